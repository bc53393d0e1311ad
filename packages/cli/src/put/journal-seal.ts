import type { NaCl } from "@idk/storage";
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "../errors/failures.ts";

/** Seals short records with a secretbox, each bound to its context. */
export interface RecordSeal {
  seal(context: string, record: Uint8Array): Uint8Array;
  /** @returns undefined if the bytes were not sealed with this key and context */
  open(context: string, sealed: Uint8Array): Uint8Array | undefined;
}

const NONCE = 24;
const TAG = 16;

/** @param key 32 bytes */
export function recordSeal(naCl: NaCl, key: Uint8Array): RecordSeal {
  return {
    seal(context, record) {
      // A context contains no NUL, so the encoding is unambiguous.
      const text = Buffer.concat([Buffer.from(`${context}\0`), record]);
      const sealed = new Uint8Array(NONCE + TAG + text.length);
      // 24 random bytes do not repeat in any realistic number of records.
      const nonce = randomBytes(NONCE);
      sealed.set(nonce);
      naCl.seal(sealed.subarray(NONCE), text, nonce, key);
      return sealed;
    },
    open(context, sealed) {
      if (sealed.length < NONCE + TAG) return undefined;
      const text = new Uint8Array(sealed.length - NONCE - TAG);
      const nonce = sealed.subarray(0, NONCE);
      if (!naCl.open(text, sealed.subarray(NONCE), nonce, key)) return undefined;
      const prefix = Buffer.from(`${context}\0`);
      if (Buffer.compare(text.subarray(0, prefix.length), prefix) !== 0) return undefined;
      return text.subarray(prefix.length);
    },
  };
}

const LENGTH = 32;

/**
 * Loads the key for this user's journals on this machine, or creates it. It is kept apart from the
 * journals, because caches are copied and cleared more freely than keys.
 *
 * @param folder created if it is missing, for its owner only
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
    // If two processes create it at once, both use the one that was linked first.
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
  // Truncated by something else: what was sealed with it is lost in any case.
  await rm(path);
  return undefined;
}
