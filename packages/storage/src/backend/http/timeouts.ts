import { usage } from "../../errors.ts";

/** Milliseconds. A call that exceeds one fails with `unavailable`, as a transient error. */
export interface Timeouts {
  /**
   * For connecting to a server that has not yet responded, or failed to respond last time. By
   * default 10 s. Through a proxy, only `firstByte` applies.
   */
  readonly connect?: number | undefined;
  /**
   * From the start of a call, connecting included, to the first byte of the response. By default
   * 30 s. A `put` gets another second per 64 KiB, because the progress of an upload is not visible:
   * for the largest blob, of 16 MiB, that is 256 s more.
   */
  readonly firstByte?: number | undefined;
  /**
   * For each part of a response: in this time, 1 KiB per second must arrive or the response end. By
   * default 30 s, so 30 KiB.
   */
  readonly stall?: number | undefined;
}

const DEFAULTS = { connect: 10_000, firstByte: 30_000, stall: 30_000 };

/**
 * Adds the defaults.
 *
 * @throws StorageError `usage`
 */
export function checkedTimeouts(given: Timeouts = {}): Readonly<Record<keyof Timeouts, number>> {
  const {
    connect = DEFAULTS.connect,
    firstByte = DEFAULTS.firstByte,
    stall = DEFAULTS.stall,
  } = given;
  const timeouts = { connect, firstByte, stall };
  for (const [name, value] of Object.entries(timeouts)) {
    // Timers with a delay of 2^31 or more fire at once.
    if (!(value > 0 && value < 2 ** 31)) throw usage(`timeouts.${name} must be milliseconds`);
  }
  return timeouts;
}

/** The slowest upload that does not time out, in bytes per second. */
const MIN_UPLOAD_RATE = 64 * 2 ** 10;

/** Milliseconds from the start of a call that uploads so many bytes to the first byte of the response. */
export function firstByteMs(firstByte: number, uploadBytes: number): number {
  return Math.min(firstByte + (uploadBytes / MIN_UPLOAD_RATE) * 1000, 2 ** 31 - 1);
}
