import type { Identity } from "@idk/storage";
import { StorageError, secretKeyOf } from "@idk/storage";
import {
  SEED_LENGTH,
  isPublicKey,
  publicKeyOfSeed,
  signMessage,
  verifySignature,
} from "./ed25519.ts";
import { assertLength, concat, decodeKey, encodeKey, kdf, utf8 } from "@idk/storage/blobs";
import type { CborItem } from "@idk/storage/blobs";
import { PUBLIC_KEY_LENGTH } from "../limits.ts";
import { byteString, malformed } from "../checks.ts";

declare const brand: unique symbol;

/** The public key of a writer as text: `idk-writer1…`, Bech32 (BIP 173). Not secret. */
export type Writer = string & { readonly [brand]: "Writer" };

/**
 * The secret key of a writer. The object exposes only the public key, so that logging or serialising it
 * by accident is harmless; `formatWriterKey` returns the secret.
 */
export interface WriterKey {
  readonly writer: Writer;
}

const PUBLIC_PREFIX = "idk-writer";
const SECRET_PREFIX = "idk-writer-secret-key-";

/** Kept out of the objects, because even private properties show up in debuggers and dumps. */
const seeds = new WeakMap<WriterKey, Uint8Array>();

/**
 * The writer key of a seed: 32 bytes from the system's generator.
 *
 * @param seed copied
 * @throws StorageError `usage`
 */
export function writerKeyFromSeed(seed: Uint8Array): WriterKey {
  assertLength("seed", seed, SEED_LENGTH);
  const copy = new Uint8Array(seed);
  const key = Object.freeze({ writer: writerFromPublicKey(publicKeyOfSeed(copy)) });
  seeds.set(key, copy);
  return key;
}

/**
 * The owner's key that follows from an identity, so that one file is all that a person has to keep.
 * Repositories of one person have it in common.
 */
export function ownerKeyOf(identity: Identity): WriterKey {
  return writerKeyFromSeed(kdf(secretKeyOf(identity), new Uint8Array(0), "idk/v1/owner"));
}

/** The seed of a writer key, 32 bytes: a copy. Secret. */
export function seedOf(key: WriterKey): Uint8Array {
  const seed = seeds.get(key);
  if (seed === undefined) throw new TypeError("this is not a writer key");
  return new Uint8Array(seed);
}

/** A writer key as text: `IDK-WRITER-SECRET-KEY-1…`. Secret. */
export function formatWriterKey(key: WriterKey): string {
  return encodeKey(SECRET_PREFIX, seedOf(key)).toUpperCase();
}

/**
 * Parses a writer key in the form of `formatWriterKey`.
 *
 * @throws StorageError `key`; the message does not repeat the text
 */
export function parseWriterKey(text: string): WriterKey {
  return writerKeyFromSeed(
    decodeKey(text, SECRET_PREFIX, "a writer key (IDK-WRITER-SECRET-KEY-1…)"),
  );
}

/**
 * The writer of a public key, 32 bytes.
 *
 * @throws StorageError `usage`; `key` if it is not canonical or of low order
 */
export function writerFromPublicKey(publicKey: Uint8Array): Writer {
  assertLength("publicKey", publicKey, PUBLIC_KEY_LENGTH);
  if (!isPublicKey(publicKey)) {
    throw new StorageError("key", "the writer's public key is not canonical or of low order");
  }
  return encodeKey(PUBLIC_PREFIX, publicKey) as Writer;
}

/**
 * Parses a writer's public key.
 *
 * @throws StorageError `key`
 */
export function parseWriter(text: string): Writer {
  return writerFromPublicKey(publicKeyOfWriter(text));
}

/** The raw public key of a writer, 32 bytes. */
export function publicKeyOfWriter(writer: string): Uint8Array {
  return decodeKey(writer, PUBLIC_PREFIX, "a writer (idk-writer1…)");
}

/** The writer whose raw public key a head has. */
export function writerOfItem(item: CborItem | undefined, what: string): Writer {
  const publicKey = byteString(item, what, PUBLIC_KEY_LENGTH);
  if (!isPublicKey(publicKey)) throw malformed(`${what} is not canonical or of low order`);
  return encodeKey(PUBLIC_PREFIX, publicKey) as Writer;
}

/** Begins what is signed, so that a signature of a head is one of nothing else. */
const HEAD_CONTEXT = utf8("idk/v1/head\0");

/** Signs the payload of a head: 64 bytes. */
export function signPayload(key: WriterKey, payload: Uint8Array): Uint8Array {
  return signMessage(seedOf(key), concat(HEAD_CONTEXT, payload));
}

/** Whether the payload of a head was signed by this writer. */
export function isSignedBy(writer: Writer, payload: Uint8Array, signature: Uint8Array): boolean {
  return verifySignature(publicKeyOfWriter(writer), concat(HEAD_CONTEXT, payload), signature);
}
