/** Contents to measure with, what came back, and their names. */
import { createHash, randomBytes, randomFillSync } from "node:crypto";
import type { Random } from "../statistics/random.ts";

/** Incompressible bytes, determined by the random numbers. */
export function noise(length: number, random: Random): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4));
  // Marsaglia's 32-bit xorshift: taking each byte from a 53-bit random number would take longer than
  // the operations that are measured with them.
  let state = Math.floor(random() * 0xff_ff_ff_ff) + 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

/** Bytes of content in a chunk of a store with default settings. */
export const CHUNK: number = 4 * 2 ** 20;

const UNITS = [
  [2 ** 30, "GiB"],
  [1e9, "GB"],
  [2 ** 20, "MiB"],
  [1e6, "MB"],
  [2 ** 10, "KiB"],
  [1e3, "KB"],
] as const;

/**
 * A size in the largest unit that divides it: 10 MB, 64 KiB, 777 bytes. It is exact, so that different
 * sizes have different names.
 */
export function sizeName(bytes: number): string {
  const found = UNITS.find(([unit]) => bytes >= unit && bytes % unit === 0);
  return found ? `${bytes / found[0]} ${found[1]}` : `${bytes} bytes`;
}

export function randomContent(size: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(new Uint8Array(size));
}

/** 64 hex digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** @throws Error if the bytes are not those with the hash */
export function expectBytes(bytes: Uint8Array, hash: string): void {
  if (sha256(bytes) !== hash) throw new Error(`${bytes.length} wrong bytes came back`);
}

/** The SHA-256 of pieces, as 64 hex digits. */
export async function hashOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

/** Reads all pieces without copying and returns their total length. */
export async function lengthOf(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const piece of pieces) length += piece.length;
  return length;
}

/** A unique object name. */
export function freshName(): string {
  return randomBytes(32).toString("hex");
}
