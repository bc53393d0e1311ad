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
