import { loadNaCl, type PutJournal } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { createHmac } from "node:crypto";
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { reasonOf } from "../errors/failures.ts";
import type { UserFolders } from "../folders.ts";
import type { FileState } from "../input/input.ts";
import type { Output } from "../output/output.ts";
import { type JournalFile, openJournalFile, removeJournal } from "./journal-file.ts";
import { storeKey } from "../stores/store-key.ts";
import { loadLocalKey, recordSeal } from "./journal-seal.ts";

/** What a put must have in common with an earlier one to resume it. */
export interface PutBinding {
  /** The content in messages. */
  readonly path: string;
  /** What identifies the content: the absolute path of a file, or else no path. */
  readonly source: string;
  /** The state of the open file; a change discards the journal. */
  readonly file: FileState;
  readonly store: StoreLocation;
  readonly recipients: readonly string[];
  /** Everything else that changes the chunks. */
  readonly cut: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Another secret changes every leaf. */
  readonly dedupSecret: Uint8Array | undefined;
}

/** The journal of one put, on disk. */
export interface OpenPutJournal extends PutJournal {
  /** The number of leaves recorded. */
  count(): number;
  remove(): void;
  close(): void;
}

/**
 * Opens the journal of an earlier put of the same file with the same options, or starts one. A put
 * never fails because of its journal: if there can be none, or the earlier one is unusable, the reason
 * is printed and the put starts from the beginning.
 */
export async function openPutJournal(
  binding: PutBinding,
  folders: UserFolders,
  out: Output,
): Promise<OpenPutJournal | undefined> {
  const note = async (text: string): Promise<void> => {
    if (!out.json) await out.note(`idk: ${text}`);
  };
  const { path } = binding;
  const folder = join(folders.cache, "put");
  try {
    const key = await loadLocalKey(folders.state);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await prune(folder);
    const name = nameOf(binding, key);
    const journal = join(folder, `${name}${SUFFIX}`);
    const seal = recordSeal(await loadNaCl(), key);
    let file = openJournalFile(journal, name, seal);
    // Two processes that open it at the same time may both fail.
    for (let attempt = 0; file === undefined && attempt < OPEN_ATTEMPTS; attempt++) {
      await setTimeout(Math.random() * OPEN_DELAY_MAX);
      file = openJournalFile(journal, name, seal);
    }
    if (file === undefined) {
      await note(`another put of ${path} is running and uses the journal: this one keeps none`);
      return undefined;
    }
    const reason = discardUnlessSame(file, binding);
    if (reason !== undefined) await note(reason);
    return journalOver(file, async (error) =>
      note(`cannot write the journal of ${path}: ${reasonOf(error)}; the put continues without it`),
    );
  } catch (error) {
    await note(
      `cannot keep a journal: ${reasonOf(error)}; if interrupted, the put of ${path} starts from the beginning`,
    );
    return undefined;
  }
}

const SUFFIX = ".journal";

const OPEN_ATTEMPTS = 4;
/** Milliseconds. */
const OPEN_DELAY_MAX = 50;

/** The record number of the file's state; leaves use their indices. */
const STATE = -1;

/** Keyed, because a plain hash would let anyone who can list the folder confirm a guessed path. */
function nameOf(binding: PutBinding, key: Uint8Array): string {
  const { source, store, recipients, cut, dedupSecret } = binding;
  const keyed = (bytes: string | Uint8Array) =>
    createHmac("sha256", key).update(bytes).digest("hex");
  const parts: unknown[] = [
    source,
    storeKey(store),
    recipients.toSorted(),
    Object.entries(cut),
    dedupSecret && keyed(dedupSecret),
  ];
  return keyed(JSON.stringify(parts)).slice(0, 40);
}

/**
 * Clears the journal unless it belongs to the file's present state.
 *
 * @returns the reason, if records were discarded
 */
function discardUnlessSame(
  file: JournalFile,
  { path, file: state }: PutBinding,
): string | undefined {
  const now = `${state.size} ${state.mtimeNs} ${state.inode}`;
  const then = file.read(STATE);
  if (then !== undefined && Buffer.from(then).toString() === now) return undefined;
  const unreadable = file.discarded || (then === undefined && file.count() > 0);
  file.clear();
  file.write(STATE, Buffer.from(now));
  if (unreadable) {
    return `the journal of an earlier put of ${path} cannot be read and is discarded: starting from the beginning`;
  }
  if (then === undefined) return undefined;
  return `${path} has changed since the interrupted put: starting from the beginning`;
}

const ADDRESS_LENGTH = 32;

function journalOver(
  file: JournalFile,
  onFailure: (error: unknown) => Promise<void>,
): OpenPutJournal {
  let failed = false;
  // The journal only saves time, so its failure does not stop the put.
  const unlessFailed = async <T>(work: () => T): Promise<T | undefined> => {
    if (failed) return undefined;
    try {
      return work();
    } catch (error) {
      failed = true;
      await onFailure(error);
      return undefined;
    }
  };
  return {
    async known(index) {
      const record = await unlessFailed(() => file.read(index));
      if (record?.length !== 2 * ADDRESS_LENGTH) return undefined;
      return {
        address: Buffer.from(record.subarray(0, ADDRESS_LENGTH)).toString("hex"),
        contentKey: record.subarray(ADDRESS_LENGTH),
      };
    },
    async stored(index, { address, contentKey }) {
      const record = Buffer.concat([Buffer.from(address, "hex"), contentKey]);
      await unlessFailed(() => file.write(index, record));
    },
    count: () => quietly(() => file.count() - 1) ?? 0,
    remove: () => quietly(() => file.remove()),
    close: () => quietly(() => file.close()),
  };
}

/** A failure to close or remove the journal does not matter. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const DAYS_KEPT = 30;

/** Removes old journals. */
async function prune(folder: string): Promise<void> {
  const names = await readdir(folder);
  const oldest = Date.now() - DAYS_KEPT * 86_400_000;
  for (const name of names) {
    if (!name.endsWith(SUFFIX)) continue;
    const path = join(folder, name);
    // Writes go to the WAL first.
    const times = await Promise.all(
      [path, `${path}-wal`].map(async (file) =>
        stat(file).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      ),
    );
    if (Math.max(...times) < oldest) removeJournal(path);
  }
}
