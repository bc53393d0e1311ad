import type { NaCl } from "@idk/storage";
import { randomBytes } from "node:crypto";

/** Seals short records with a secretbox, each for its one place. */
export interface RecordSeal {
  seal(place: string, record: Uint8Array): Uint8Array;
  /** @returns undefined where the bytes were not sealed with this key for this place */
  open(place: string, sealed: Uint8Array): Uint8Array | undefined;
}

const NONCE = 24;
const TAG = 16;

/** @param key 32 bytes */
export function recordSeal(naCl: NaCl, key: Uint8Array): RecordSeal {
  return {
    seal(place, record) {
      // The place has a terminator that it cannot hold: no two of both give the same text.
      const text = Buffer.concat([Buffer.from(`${place}\0`), record]);
      const sealed = new Uint8Array(NONCE + TAG + text.length);
      // Long enough to be drawn at random for as many records as there will ever be.
      const nonce = randomBytes(NONCE);
      sealed.set(nonce);
      naCl.seal(sealed.subarray(NONCE), text, nonce, key);
      return sealed;
    },
    open(place, sealed) {
      if (sealed.length < NONCE + TAG) return undefined;
      const text = new Uint8Array(sealed.length - NONCE - TAG);
      const nonce = sealed.subarray(0, NONCE);
      if (!naCl.open(text, sealed.subarray(NONCE), nonce, key)) return undefined;
      const prefix = Buffer.from(`${place}\0`);
      if (Buffer.compare(text.subarray(0, prefix.length), prefix) !== 0) return undefined;
      return text.subarray(prefix.length);
    },
  };
}
