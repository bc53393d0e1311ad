import { type NaClChoice, type Store, StorageError, type StoreOptions } from "../src/index.ts";
import { type Identity, createStore, generateIdentity } from "../src/index.ts";
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { type RootFields, encodeRoot } from "../src/format/root.ts";
import { memory } from "../src/backend/memory.ts";

/** The NaCl implementation for this run; `script/test` runs the suite with each. */
export const nacl: NaClChoice = ((): NaClChoice => {
  const choice = process.env["IDK_TEST_NACL"] ?? "auto";
  if (choice === "auto" || choice === "native" || choice === "portable") return choice;
  throw new Error(`IDK_TEST_NACL must be auto, native or portable, not ${choice}`);
})();

export const testdata: string = join(import.meta.dir, "../../../testdata");

export const alice: Identity = await generateIdentity();
export const bob: Identity = await generateIdentity();

/** A store in memory that Alice writes to and reads from, unless the options say otherwise. */
export function aliceStore(options: Partial<StoreOptions> = {}): Store {
  return createStore({
    backend: memory(),
    recipients: [alice.recipient],
    identities: [alice],
    nacl,
    ...options,
  });
}

/** A root's plaintext, written over other data. */
export function encodedRoot(fields: RootFields, pad: boolean): Uint8Array<ArrayBuffer> {
  const encoded = encodeRoot(fields, pad);
  const plaintext = new Uint8Array(encoded.length).fill(0xff);
  encoded.write(plaintext);
  return plaintext;
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function random(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(length));
}

/** The bytes released before the end or an error, and the error. */
export async function drain(
  stream: ReadableStream<Uint8Array>,
): Promise<{ bytes: Uint8Array; error?: unknown }> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of stream) pieces.push(piece);
    return { bytes: Buffer.concat(pieces) };
  } catch (error) {
    return { bytes: Buffer.concat(pieces), error };
  }
}

/** The code of a StorageError; anything else is returned unchanged, so that an expectation fails. */
export function codeOf(error: unknown): unknown {
  return error instanceof StorageError ? error.code : error;
}

/** The code with which a promise fails, or "ok". */
export async function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "ok",
    (error: unknown) => codeOf(error),
  );
}
