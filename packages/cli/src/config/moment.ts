import { parsePeriod } from "./period.ts";
import { type Field, field, optional } from "./settings.ts";

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
  throw new Error("must be a time in UTC such as 2026-11-20 or 2026-11-20T12:30, or 2h or 7d ago");
}

/** A time, in milliseconds since 1970. */
export const moment: Field<number | undefined> = optional(field((given) => parseMoment(given)));

const DATE_LENGTH = "2026-11-20".length;
