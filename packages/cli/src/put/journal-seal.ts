import type { NaCl } from "@idk/storage";
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "../errors/failures.ts";

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

const LENGTH = 32;

/**
 * The key that this user's journals on this machine are sealed with; made when it is first needed.
 * It is not kept beside them: caches get copied and cleared where nobody would copy a key.
 *
 * @param folder made where it is missing, for its owner alone
 * @throws the system's own error
 */
export async function loadLocalKey(folder: string): Promise<Uint8Array> {
  const path = join(folder, "journal.key");
  const found = await read(path);
  if (found !== undefined) return found;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const key = randomBytes(LENGTH);
  const temporary = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    await writeFile(temporary, key, { flag: "wx", mode: 0o600, flush: true });
    // Of two that come at once, one makes the key and both use it.
    await link(temporary, path);
    return key;
  } catch (error) {
    const theirs = systemCodeOf(error) === "EEXIST" ? await read(path) : undefined;
    if (theirs === undefined) throw error;
    return theirs;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    const key = await readFile(path);
    if (key.length === LENGTH) return key;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  // Cut short by something else than this program: what was sealed with it is lost in any case.
  await rm(path);
  return undefined;
}
