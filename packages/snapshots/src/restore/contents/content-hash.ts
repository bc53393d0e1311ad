import type { Hashing } from "@idk/storage/blobs";
import { readSync } from "node:fs";
import { PIECE_MAX } from "../../format/limits.ts";
import { zeroBytes } from "../../format/zeros.ts";
import { throwIfAborted } from "../../read/aborted.ts";

const BUFFER = 2 ** 20;
/** Bytes after which others get their turn: a fraction of a second. */
const TURN = 64 * 2 ** 20;

/** Lets timers, requests and the caller's signal be served, as calls to the file system are synchronous. */
export async function otherTurns(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  throwIfAborted(signal);
}

/**
 * Adds a part of an open file to a hash.
 *
 * @returns whether the file has as many bytes
 */
export async function hashRange(
  hash: Hashing,
  fd: number,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const buffer = new Uint8Array(Math.min(BUFFER, end - start));
  let turn = 0;
  for (let at = start; at < end;) {
    const length = readSync(fd, buffer, 0, Math.min(buffer.length, end - at), at);
    if (length === 0) return false;
    hash.update(length === buffer.length ? buffer : buffer.subarray(0, length));
    at += length;
    turn += length;
    if (turn < TURN) continue;
    turn = 0;
    await otherTurns(signal);
  }
  return true;
}

/** Adds zeros to a hash. A hole may be announced to be as long as any number. */
export async function hashZeros(
  hash: Hashing,
  length: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let turn = 0;
  for (let left = length; left > 0; left -= PIECE_MAX) {
    hash.update(zeroBytes(Math.min(left, PIECE_MAX)));
    turn += PIECE_MAX;
    if (turn < TURN) continue;
    turn = 0;
    await otherTurns(signal);
  }
}

/** Whether an open file begins with these bytes. */
export function beginsWith(fd: number, content: Uint8Array): boolean {
  const buffer = new Uint8Array(content.length);
  for (let at = 0; at < buffer.length;) {
    const length = readSync(fd, buffer, at, buffer.length - at, at);
    if (length === 0) return false;
    at += length;
  }
  return Buffer.compare(buffer, content) === 0;
}
