import type { Folder, Host, Stat } from "../../files/host.ts";
import { codeOf } from "../../files/errors.ts";

/**
 * A file is written under a temporary name in its folder and renamed when it is whole and verified, so
 * its own name never has anything else: not after the process is killed either, and a run with `never` can
 * go on from there. After a loss of power it cannot: nothing is flushed, so the disk may have the name, size
 * and time of a file without its content. The temporary name follows from the file's own, so that the same
 * command, run again, finds and replaces what a killed one left. It also replaces what one that still runs
 * is writing, which notices that right before it renames (`isOwn`) and leaves the file to it. Between that
 * look and the rename a moment remains in which it would not.
 */
const PREFIX = Buffer.from(".idk-restore-");
const DIGITS = 16;
const HEX = Buffer.from("0123456789abcdef");

/** Whether a name looks like a temporary one. */
export function isTemporaryName(name: Uint8Array): boolean {
  return name.length === PREFIX.length + DIGITS && PREFIX.equals(name.subarray(0, PREFIX.length));
}

/** @param attempt counts up while a name is taken by an entry of the snapshot */
function temporaryName(name: Uint8Array, attempt: number): Uint8Array {
  // FNV-1a, in two lanes: only to tell files of one folder apart.
  let a = 0x81_1c_9d_c5 ^ attempt;
  let b = 0x01_00_01_93 + attempt;
  for (let at = 0; at < name.length; at += 1) {
    const byte = name[at]!;
    a = Math.imul(a ^ byte, 0x01_00_01_93);
    b = Math.imul(b ^ byte, 0x85_eb_ca_6b);
    b ^= b >>> 13;
  }
  const temporary = new Uint8Array(PREFIX.length + DIGITS);
  temporary.set(PREFIX);
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const lane = digit < DIGITS / 2 ? a : b;
    temporary[PREFIX.length + digit] = HEX[(lane >>> (4 * (digit % 8))) & 0xf]!;
  }
  return temporary;
}

const ATTEMPTS = 64;

/**
 * Makes something under a temporary name.
 *
 * @param isTaken whether the folder has entries of the snapshot with such names, which must stay
 * @param make throws `EEXIST` if there is something of this name
 */
export function makeTemporary<T>(
  host: Host,
  folder: Folder,
  name: Uint8Array,
  isTaken: boolean,
  make: (temporary: Uint8Array) => T,
): { readonly temporary: Uint8Array; readonly made: T } {
  for (let attempt = 0; ; attempt += 1) {
    const temporary = temporaryName(name, isTaken ? attempt : 0);
    try {
      return { temporary, made: make(temporary) };
    } catch (error) {
      if (codeOf(error) !== "EEXIST" || attempt === ATTEMPTS) throw error;
      // Left by a restore that was killed.
      if (!isTaken) host.removeFile(folder, temporary);
    }
  }
}

/** What tells a file that was made here from another that has its name by now. */
export type Own = Pick<Stat, "inode" | "type">;

/**
 * Whether a temporary name is still that of the own file. Otherwise another restore is writing it now, and
 * what has the name may not be whole.
 *
 * @param own a file has to be open: another may have its inode afterwards. Undefined if it is gone
 */
function isOwn(host: Host, folder: Folder, temporary: Uint8Array, own: Own | undefined): boolean {
  const there = host.stat(folder, temporary);
  return there !== undefined && there.inode === own?.inode && there.type === own.type;
}

/** The temporary file is another's now: it is not removed. */
export class FileReplaced extends Error {
  readonly code = "ESTALE";

  constructor() {
    super(
      "another restore into this folder replaced it while it was written: " +
        "wait for that restore to finish, then restore again",
    );
  }
}

/**
 * Renames what is whole to its own name, in place of whatever has that.
 *
 * @param removeFolder removes a folder that has the name; throws if it must stay
 * @throws FileReplaced if the temporary name is another's
 */
export function putInPlace(
  host: Host,
  folder: Folder,
  temporary: Uint8Array,
  own: Own | undefined,
  name: Uint8Array,
  removeFolder: () => void,
): void {
  const rename = (): void => {
    if (!isOwn(host, folder, temporary, own)) throw new FileReplaced();
    host.rename(folder, temporary, folder, name);
  };
  try {
    rename();
  } catch (error) {
    if (codeOf(error) !== "EISDIR") throw error;
    removeFolder();
    // That may have taken long.
    rename();
  }
}

/** Removes the own temporary file. A failure is not worth hiding the error that it follows. */
export function removeOwn(
  host: Host,
  folder: Folder,
  temporary: Uint8Array,
  own: Own | undefined,
): void {
  try {
    if (isOwn(host, folder, temporary, own)) host.removeFile(folder, temporary);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}
