import { type Field, field, optional } from "./settings.ts";

const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 60 * 60,
  d: 24 * 60 * 60,
  w: 7 * 24 * 60 * 60,
};

/**
 * Parses `7d`, `36h` or `1d12h`: weeks, days, hours, minutes, seconds.
 *
 * @returns seconds
 * @throws Error whose message follows the name of the setting
 */
export function parsePeriod(text: string): number {
  const parts = [...text.matchAll(/(\d{1,9})([wdhms])/gu)];
  const seconds = parts.reduce((sum, [, n, unit]) => sum + Number(n) * SECONDS[unit!]!, 0);
  if (parts.length > 0 && parts.map(([all]) => all).join("") === text) return seconds;
  throw new Error("must be a period such as 7d, 36h or 1d12h");
}

/** A period as `parsePeriod` takes it. */
export function formatPeriod(seconds: number): string {
  let left = seconds;
  let text = "";
  for (const unit of ["d", "h", "m", "s"]) {
    const whole = Math.floor(left / SECONDS[unit]!);
    if (whole > 0) text += `${whole}${unit}`;
    left -= whole * SECONDS[unit]!;
  }
  return text === "" ? "0s" : text;
}

const DATE_LENGTH = "2026-11-20".length;
const MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z?)?$/u;

/**
 * Parses a time in UTC, such as `2026-11-20` or `2026-11-20T12:30`, or a period before now, such as
 * `2h` or `7d`.
 *
 * @param now milliseconds since 1970
 * @returns milliseconds since 1970
 * @throws Error whose message follows the name of the setting
 */
export function parseMoment(text: string, now: number = Date.now()): number {
  if (MOMENT.test(text)) {
    const iso = text.replace(" ", "T").replace(/Z$/u, "");
    const time = Date.parse(iso.length === DATE_LENGTH ? iso : `${iso}Z`);
    if (!Number.isNaN(time)) return time;
  } else {
    try {
      return now - 1000 * parsePeriod(text);
    } catch {
      // Below.
    }
  }
  throw new Error(
    "must be a time in UTC such as 2026-11-20 or 2026-11-20T12:30, or a period before now, such as 2h",
  );
}

/** A time, in milliseconds since 1970. */
export const moment: Field<number | undefined> = optional(field((given) => parseMoment(given)));
