/** How far a request's time and the server's may lie apart, in milliseconds. */
export const MAX_SKEW: number = 15 * 60_000;

/**
 * The time of a text such as `20130524T000000Z`.
 *
 * @returns milliseconds since 1970, or undefined if it is malformed
 */
export function parseAmzDate(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/u.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // Some runtimes take the 31st of February.
  return Number.isFinite(time) && amzDate(time) === text ? time : undefined;
}

/** The time of a header `Date`, as RFC 9110 prefers it. */
export function parseHttpDate(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isFinite(time) && new Date(time).toUTCString() === text ? time : undefined;
}

/** A time as V4 signs it, such as `20130524T000000Z`. */
export function amzDate(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:]|\.\d{3}/gu, "");
}

/** A time as the details of errors have it, such as `2013-05-24T00:00:00Z`. */
export function isoDate(time: number): string {
  return new Date(time).toISOString().replace(/\.\d{3}/u, "");
}
