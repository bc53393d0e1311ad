import { createStore, StorageError } from "@idk/storage";
import type { RecorderLimits, RecorderOptions } from "./options.ts";
import { BODY_BYTES_MAX, SEGMENT_BYTES_MAX } from "./segments/limits.ts";

/**
 * Checks the options but the rules, and completes the limits.
 *
 * @throws StorageError `usage`, `key`
 */
export function checkRecorderOptions(options: RecorderOptions): RecorderLimits {
  if (typeof options !== "object" || options === null) throw usage("options must be an object");
  const { backend, compression, hashKey, keep, onError, recipients, spool } = options;
  if (typeof spool !== "string" || spool === "") {
    throw usage("spool must be the path of a folder for sealed segments");
  }
  if (compression !== undefined && compression !== "none" && compression !== "zstd") {
    throw usage('compression must be "none" or "zstd"');
  }
  for (const [name, value] of Object.entries({ keep, onError })) {
    if (value !== undefined && typeof value !== "function")
      throw usage(`${name} must be a function`);
  }
  if (hashKey !== undefined && !(hashKey instanceof Uint8Array && hashKey.length >= 32)) {
    throw usage("hashKey must be a Uint8Array of 32 bytes or more");
  }
  if (typeof recipients !== "function") {
    if (!Array.isArray(recipients) || recipients.length === 0) {
      throw usage("recipients must be a list of at least one recipient, or a function");
    }
    // Checks each of them, and the backend.
    createStore({ backend, recipients });
  } else {
    createStore({ backend });
  }
  return checkLimits(options.limits ?? {});
}

const MIB = 2 ** 20;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Default, least and most of each limit. */
const LIMITS: Readonly<Record<keyof RecorderLimits, readonly [number, number, number]>> = {
  bodyBytes: [65_536, 0, BODY_BYTES_MAX],
  queueBytes: [32 * MIB, 65_536, Number.MAX_SAFE_INTEGER],
  spoolBytes: [256 * MIB, MIB, Number.MAX_SAFE_INTEGER],
  segmentBytes: [MIB, 65_536, SEGMENT_BYTES_MAX],
  segmentMs: [10_000, 1, MAX_TIMER_MS],
  workMs: [2, 1, 1000],
  uploadMs: [60_000, 1, MAX_TIMER_MS],
  orphanMs: [30_000, 1, MAX_TIMER_MS],
};

function checkLimits(given: Partial<RecorderLimits>): RecorderLimits {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(LIMITS, name)) throw usage(`there is no limit ${JSON.stringify(name)}`);
  }
  const limits: Partial<Record<keyof RecorderLimits, number>> = {};
  for (const [name, [byDefault, least, most]] of Object.entries(LIMITS)) {
    const limit = name as keyof RecorderLimits;
    const value = given[limit] ?? byDefault;
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw usage(`the limit ${name} must be an integer from ${least} to ${most}`);
    }
    limits[limit] = value;
  }
  return limits as RecorderLimits;
}

function usage(message: string): StorageError {
  return new StorageError("usage", message);
}
