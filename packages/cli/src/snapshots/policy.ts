import type { Span } from "@idk/snapshots";

/** Parses the number of snapshots to keep: `7`, or `unlimited`. */
export function parseCount(text: string): number {
  if (text === "unlimited") return Infinity;
  if (/^\d{1,9}$/u.test(text)) return Number(text);
  throw new Error("must be a number of snapshots, or unlimited");
}

const UNITS = { y: "years", m: "months", d: "days", h: "hours" } as const;

/** Parses a span of the calendar, such as `1y6m`, `90d` or `36h`. */
export function parseSpan(text: string): Span {
  const parts = [...text.matchAll(/(\d{1,6})([ymdh])/gu)];
  const span: Partial<Record<keyof Span, number>> = {};
  for (const [, n, unit] of parts) {
    const key = UNITS[unit as keyof typeof UNITS];
    span[key] = (span[key] ?? 0) + Number(n);
  }
  if (parts.length > 0 && parts.map(([all]) => all).join("") === text) return span;
  throw new Error("must be a span of years, months, days and hours, such as 1y6m, 90d or 36h");
}

/** Parses `10%`. */
export function parseShare(text: string): number {
  const [, digits] = /^(\d{1,3}(?:\.\d{1,6})?)%$/u.exec(text) ?? [];
  const share = Number(digits) / 100;
  if (digits !== undefined && share > 0 && share <= 1) return share;
  throw new Error("must be a share of all data, such as 10%");
}
