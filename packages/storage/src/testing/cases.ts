import assert from "node:assert/strict";
import type { Backend, CallOptions, ListedBlob } from "../backend/backend.ts";
import { equal, toHex } from "../bytes.ts";
import { createHash } from "node:crypto";
import { type ErrorCode, StorageError } from "../errors.ts";

export interface Case {
  readonly name: string;
  check(opened: Opened): Promise<void>;
}

interface Opened {
  readonly backend: Backend;
  reopen(): Promise<Backend>;
}

export const KIB: number = 2 ** 10;
export const MIB: number = 2 ** 20;

/** The longest blob a backend must accept: a 16 MiB chunk with its envelope. */
export const LONGEST: number = 16 * MIB + 59;

/** A random name that starts with the given digits. */
export function newName(prefix = ""): string {
  return prefix + toHex(crypto.getRandomValues(new Uint8Array(32))).slice(prefix.length);
}

/** Bytes that depend on the seed and do not repeat, so that a misplaced part is detected. */
export function blobOf(length: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

/** The SHA-256 of a blob in the form that the contract uses. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Reads a blob into a longer buffer, so that a wrong length is detected rather than rejected. */
export async function read(
  backend: Backend,
  name: string,
  expected: number,
  options?: CallOptions,
): Promise<Uint8Array> {
  const buffer = new Uint8Array(expected + 64);
  const length = await backend.get(name, buffer, options);
  assert.ok(
    Number.isInteger(length) && length >= 0 && length <= buffer.length,
    `get returned ${length} for a buffer of ${buffer.length} bytes`,
  );
  return buffer.subarray(0, length);
}

export async function assertHolds(
  backend: Backend,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  assertSame(await read(backend, name, bytes.length), bytes);
}

/** As deepEqual, but fast and without printing megabytes. */
export function assertSame(actual: Uint8Array, expected: Uint8Array): void {
  assert.equal(actual.length, expected.length, "the blob has a different length");
  assert.ok(equal(actual, expected), "the blob has different bytes");
}

export async function assertMissing(backend: Backend, name: string): Promise<void> {
  assert.equal(await backend.head(name), undefined, "head finds the blob");
  await fails(backend.get(name, new Uint8Array(KIB)), "not-found");
}

/** Asserts that the call fails with this code and is not transient. */
export async function fails(call: Promise<unknown>, code: ErrorCode): Promise<void> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error !== undefined, `the call succeeded, but ${code} was expected`);
  assertFailure(error, code);
}

export function assertFailure(error: unknown, code: ErrorCode): void {
  assert.ok(error instanceof StorageError, `not a StorageError but ${String(error)}`);
  assert.equal(error.code, code, error.message);
  assert.equal(error.transient, false, `${code} must not be transient`);
  assert.notEqual(error.message, "", "the error has no message");
}

export async function collect(
  blobs: AsyncIterable<ListedBlob>,
): Promise<{ name: string; size: number }[]> {
  const all: { name: string; size: number }[] = [];
  for await (const { name, size } of blobs) all.push({ name, size });
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
