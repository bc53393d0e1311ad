import { loadNaCl, type PutJournal } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { createHmac } from "node:crypto";
import { mkdir, readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { reasonOf } from "../errors/failures.ts";
import type { UserFolders } from "../folders.ts";
import type { FileState } from "../input/input.ts";
import type { Output } from "../output/output.ts";
import { type JournalFile, openJournalFile, removeJournal } from "./journal-file.ts";
import { loadLocalKey, recordSeal } from "./journal-seal.ts";

/** What a put has to have in common with an earlier one in order to continue it. */
export interface PutBinding {
  readonly path: string;
  /** Of the open file; a change discards the journal. */
  readonly file: FileState;
  readonly store: StoreLocation;
  readonly recipients: readonly string[];
  /** How the content is cut: whatever else changes the chunks. */
  readonly cut: Readonly<Record<string, string | number | boolean | undefined>>;
  /** With another one, every leaf is another. */
  readonly dedupSecret: Uint8Array | undefined;
}

/** A journal on disk, for one put. */
export interface OpenPutJournal extends PutJournal {
  /** Leaves that the next run would find. */
  count(): number;
  /** The content is stored: the journal has done its work. */
  remove(): void;
  close(): void;
}

/**
 * Opens the journal of an earlier put of the same file in the same way, or begins one. A put is
 * never kept from being made: where there can be no journal, or not the earlier one, people are told
 * why, and it begins at the start.
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
    // Two that come at the same moment may each be in the other's way.
    for (let attempt = 0; file === undefined && attempt < OPEN_ATTEMPTS; attempt++) {
      await setTimeout(Math.random() * OPEN_DELAY_MAX);
      file = openJournalFile(journal, name, seal);
    }
    if (file === undefined) {
      await note(`another put of ${path} is at work, and has the journal: this one keeps none`);
      return undefined;
    }
    const remark = takeUp(file, binding);
    if (remark !== undefined) await note(remark);
    return journalOver(file, async (error) =>
      note(
        `the journal of ${path} cannot be kept any longer, and the put goes on: ${reasonOf(error)}`,
      ),
    );
  } catch (error) {
    await note(
      `no journal is kept, and after an interruption the put of ${path} would start again: ${reasonOf(error)}`,
    );
    return undefined;
  }
}

const SUFFIX = ".journal";

const OPEN_ATTEMPTS = 4;
/** Milliseconds. */
const OPEN_DELAY_MAX = 50;

/** The record of the file's state; those of leaves have the leaves' indices. */
const STATE = -1;

/** Keyed, since a bare hash would let whoever can list the folder confirm a guess of the path. */
function nameOf(binding: PutBinding, key: Uint8Array): string {
  const { path, store, recipients, cut, dedupSecret } = binding;
  const keyed = (bytes: string | Uint8Array) =>
    createHmac("sha256", key).update(bytes).digest("hex");
  const parts: unknown[] = [
    resolve(path),
    placeOf(store),
    recipients.toSorted(),
    Object.entries(cut),
    dedupSecret && keyed(dedupSecret),
  ];
  return keyed(JSON.stringify(parts)).slice(0, 40);
}

/** Which store it is, whoever asks: credentials change. */
function placeOf(store: StoreLocation): readonly unknown[] {
  if (store.kind === "filesystem") return [store.kind, resolve(store.folder)];
  const where = store.kind === "minio" ? [store.host, store.port] : [store.endpoint, store.region];
  return [store.kind, ...where, store.bucket, store.prefix];
}

/**
 * Keeps what an earlier run of the same put noted, and nothing else.
 *
 * @returns what to tell people where something had to go
 */
function takeUp(file: JournalFile, { path, file: state }: PutBinding): string | undefined {
  const now = `${state.size} ${state.mtimeNs} ${state.inode}`;
  const then = file.read(STATE);
  if (then !== undefined && Buffer.from(then).toString() === now) return undefined;
  const unreadable = file.discarded || (then === undefined && file.count() > 0);
  file.clear();
  file.write(STATE, Buffer.from(now));
  if (unreadable) {
    return `the journal of an earlier put of ${path} cannot be read and is discarded: this one starts at the beginning`;
  }
  if (then === undefined) return undefined;
  return `${path} has changed since the put that was interrupted: this one starts at the beginning`;
}

const ADDRESS_LENGTH = 32;

function journalOver(
  file: JournalFile,
  onFailure: (error: unknown) => Promise<void>,
): OpenPutJournal {
  let failed = false;
  // The journal is an economy: what goes wrong with it is no reason to stop.
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

/** At the end of a put its outcome alone is of interest. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const DAYS_KEPT = 30;

/** Removes the journals of puts that nobody has taken up again. */
async function prune(folder: string): Promise<void> {
  const names = await readdir(folder);
  const oldest = Date.now() - DAYS_KEPT * 86_400_000;
  for (const name of names) {
    if (!name.endsWith(SUFFIX)) continue;
    const path = join(folder, name);
    // What is written goes into the second file first.
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
