import { assertLength, typeName } from "../bytes.ts";
import { decodeKey, encodeKey, malformedKey } from "./key-text.ts";
import { KEY_LENGTH } from "../format/limits.ts";
import type { KeyPair } from "./wrap-key.ts";
import { isCanonicalPublicKey, isLowOrder } from "./public-key.ts";
import { loadedNaCl } from "./nacl/load-nacl.ts";
import { randomKey } from "./key-schedule.ts";
import { usage } from "../errors.ts";

declare const brand: unique symbol;

/** A public key as text: `idk1…`, Bech32 (BIP 173) of the X25519 public key. Not secret. */
export type Recipient = string & { readonly [brand]: "Recipient" };

/**
 * A secret key. The object exposes only its recipient, so that logging or serialising it by accident
 * is harmless; `formatIdentity` returns the secret.
 */
export interface Identity {
  readonly recipient: Recipient;
}

const RECIPIENT_PREFIX = "idk";
const IDENTITY_PREFIX = "idk-secret-key-";

/** Kept out of the objects, because even private properties show up in debuggers and dumps. */
const keyPairs = new WeakMap<Identity, KeyPair>();

/**
 * Generates an identity with the system's random generator. Returns a promise so that key generation
 * can use asynchronous cryptography.
 */
export async function generateIdentity(): Promise<Identity> {
  return newIdentity(randomKey());
}

/**
 * The identity for an existing secret key, such as `nacl.box.keyPair().secretKey`.
 *
 * @param secretKey 32 bytes; copied
 * @throws StorageError `usage`
 */
export function identityFromSecretKey(secretKey: Uint8Array): Identity {
  assertLength("secretKey", secretKey, KEY_LENGTH);
  return newIdentity(new Uint8Array(secretKey));
}

/**
 * The recipient for an existing public key, such as `nacl.box.keyPair().publicKey`.
 *
 * @param publicKey 32 bytes
 * @throws StorageError `usage`; `key` if it is not canonical or of low order
 */
export function recipientFromPublicKey(publicKey: Uint8Array): Recipient {
  assertLength("publicKey", publicKey, KEY_LENGTH);
  checkPublicKey(publicKey);
  return encodeKey(RECIPIENT_PREFIX, publicKey) as Recipient;
}

/**
 * Parses a recipient.
 *
 * @throws StorageError `key`
 */
export function parseRecipient(text: string): Recipient {
  return recipientFromPublicKey(publicKeyOf(text));
}

/**
 * Parses an identity in the form of `formatIdentity`.
 *
 * @throws StorageError `key`; the message does not repeat the text
 */
export function parseIdentity(text: string): Identity {
  const secretKey = decodeKey(text, IDENTITY_PREFIX, "an identity (IDK-SECRET-KEY-1…)");
  return newIdentity(secretKey);
}

/** An identity as text: `IDK-SECRET-KEY-1…`. Secret. */
export function formatIdentity(identity: Identity): string {
  return encodeKey(IDENTITY_PREFIX, keyPairOf(identity).secretKey).toUpperCase();
}

/** The raw secret key of an identity, 32 bytes: a copy, for other NaCl programs. */
export function secretKeyOf(identity: Identity): Uint8Array {
  return new Uint8Array(keyPairOf(identity).secretKey);
}

/**
 * The raw public key of a recipient, 32 bytes.
 *
 * @throws StorageError `key`
 */
export function publicKeyOf(recipient: string): Uint8Array {
  const publicKey = decodeKey(recipient, RECIPIENT_PREFIX, "a recipient (idk1…)");
  checkPublicKey(publicKey);
  return publicKey;
}

/** An identity's keys; internal to the library. */
export function keyPairOf(identity: Identity): KeyPair {
  const pair = keyPairs.get(identity);
  if (pair === undefined) {
    throw usage(
      `an identity comes from generateIdentity, parseIdentity or identityFromSecretKey, got ${typeName(identity)}`,
    );
  }
  return pair;
}

function newIdentity(secretKey: Uint8Array): Identity {
  const publicKey = loadedNaCl().publicKey(secretKey);
  const identity = Object.freeze({ recipient: recipientFromPublicKey(publicKey) });
  keyPairs.set(identity, { secretKey, publicKey });
  return identity;
}

function checkPublicKey(publicKey: Uint8Array): void {
  if (!isCanonicalPublicKey(publicKey)) throw malformedKey("the public key is not canonical");
  if (isLowOrder(publicKey)) {
    throw malformedKey("the public key is of low order: no one can hold its secret key");
  }
}
