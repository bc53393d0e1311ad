/*
 * How long segments and their lines can be. Recorders keep to it, so that readers can refuse what is
 * longer, and hostile segments take no more memory than the longest of a recorder.
 */

/** The most that the limit for bodies can be set to: 16 MiB. */
export const BODY_BYTES_MAX: number = 2 ** 24;

/**
 * The most bytes of a line, its line feed included: two bodies of `BODY_BYTES_MAX`. An exchange that
 * would take more, because JSON escapes characters and rules may replace values by longer ones, is
 * stored without its bodies.
 */
export const LINE_BYTES_MAX: number = 2 * BODY_BYTES_MAX;

/** The most bytes of a segment that has more than one line: a mebibyte. */
export const SEGMENT_BYTES_MAX: number = 2 ** 20;

/** The most bytes of a segment with so many lines. */
export function segmentBytesMax(lines: number): number {
  return lines === 1 ? LINE_BYTES_MAX : SEGMENT_BYTES_MAX;
}
