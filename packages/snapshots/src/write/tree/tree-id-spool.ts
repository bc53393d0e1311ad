import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { ARRAY, ByteWriter } from "../../format/tree/byte-writer.ts";
import { type EntryBytes, writeTreeIdItem } from "../../format/tree/encode-entry.ts";
import { join } from "node:path";
import { startHash } from "@idk/storage/blobs";
import { tmpdir } from "node:os";

/** What a directory keeps in memory of its tree id: 40,000 entries or so. */
const MEMORY_MAX = 2 ** 22;
const PORTION = 2 ** 20;

/**
 * Computes the tree id of a directory whose entries come one after the other. The array that is hashed
 * begins with their number, which is known only at the end; so the entries of a directory of a million
 * wait in a temporary file without a name.
 */
export class TreeIdSpool {
  readonly #memory = new ByteWriter();
  #file: number | undefined;
  #inFile = 0;
  #count = 0;

  add(entry: EntryBytes): void {
    writeTreeIdItem(this.#memory, entry);
    this.#count += 1;
    if (this.#memory.length > MEMORY_MAX) this.#spill();
  }

  /** The tree id. */
  digest(): Uint8Array {
    const hash = startHash();
    const head = new ByteWriter(16);
    head.head(ARRAY, this.#count);
    hash.update(head.view());
    if (this.#file !== undefined) {
      const portion = new Uint8Array(PORTION);
      for (let at = 0; at < this.#inFile;) {
        const read = readSync(this.#file, portion, 0, PORTION, at);
        if (read === 0) throw new Error("a temporary file of the backup was cut short");
        hash.update(portion.subarray(0, read));
        at += read;
      }
    }
    hash.update(this.#memory.view());
    return new Uint8Array(hash.digest());
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #spill(): void {
    this.#file ??= openNameless();
    const bytes = this.#memory.view();
    for (let at = 0; at < bytes.length;) {
      at += writeSync(this.#file, bytes, at, bytes.length - at, this.#inFile + at);
    }
    this.#inFile += bytes.length;
    this.#memory.clear();
  }
}

function openNameless(): number {
  const folder = mkdtempSync(join(tmpdir(), "idk-backup-"));
  try {
    return openSync(join(folder, "entries"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
