import { type CacheRecord, isAsRecorded, stateOf } from "../cache/record.ts";
import type { Folder, Host, Stat } from "../files/host.ts";
import { decodeValue, encodeValue, linksOf } from "./tree/record-value.ts";
import { encodeAfter, hashIn } from "./tree/entry-bytes.ts";
import { type PieceSink, readPieces } from "./files/file-pieces.ts";
import type { Cache } from "../cache/cache.ts";
import { DEPTH_MAX } from "../read/walk.ts";
import type { Extra } from "../format/tree/entry.ts";
import type { LinkGroups } from "../walk/link-groups.ts";
import type { Merged } from "../cache/merge.ts";
import type { NewPiece } from "./packs/data-packer.ts";
import { PIECE_MAX } from "../format/limits.ts";
import type { Step } from "../walk/walk.ts";
import { StorageError } from "@idk/storage";
import type { TreeStep } from "./entry-queue.ts";
import { codeOf } from "../files/errors.ts";
import { describe } from "../walk/describe.ts";
import { encodeCborT } from "@idk/storage/blobs";
import { everyPlace } from "./files/uses.ts";
import { readFile } from "../walk/read-file.ts";

/** What the walk of a backup reports to. */
export interface WalkSink extends Omit<PieceSink, "onList" | "onAbandoned"> {
  push(step: TreeStep): void;
  /** The last piece that was added, whose place comes last. */
  lastPiece(): NewPiece | undefined;
  /** A pack that an entry needs, and bytes of it. */
  readonly onUsed: (pack: number, bytes: number) => void;
  /** An entry that is no folder, and its bytes if it is a file. */
  onFile(bytes: number): void;
  onFolder(): void;
  onGone(): void;
  /** Whether what fails now is not the file that is read. */
  hasFailed(): boolean;
  onError(path: Uint8Array, error: unknown): void;
  onWarning(path: Uint8Array, message: string): void;
}

export interface FolderWalkOptions {
  readonly host: Host;
  readonly cache: Cache;
  readonly links: LinkGroups;
  /** Whether to read files that have not changed. */
  readonly readAll: boolean;
  /** This host's clock, in milliseconds. */
  readonly ownTime: () => number;
}

type EntryStep = Extract<Step, { kind: "entry" }>;
type EnterStep = Extract<Step, { kind: "enter" }>;

const SLASH = Buffer.from("/");

/** Looks at each step of a walk, reads the files that have changed, and says what is in the tree. */
export async function walkFolders(
  steps: Iterable<Merged>,
  sink: WalkSink,
  options: FolderWalkOptions,
): Promise<void> {
  const { host, cache, ownTime } = options;
  /** Of the folders below the root that the walk is in. */
  const names: Uint8Array[] = [];
  const buffer = new Uint8Array(PIECE_MAX);
  const pathOf = (name?: Uint8Array): Uint8Array => {
    const all = name === undefined ? names : [...names, name];
    return Buffer.concat(all.flatMap((part) => [SLASH, part]));
  };
  const warningsOf = (name?: Uint8Array) => (message: string) =>
    sink.onWarning(pathOf(name), message);

  const pieceSink: PieceSink = {
    ...sink,
    onList: (list) => sink.push({ kind: "list", list, last: sink.lastPiece() }),
    onAbandoned: (piece) => sink.push({ kind: "abandoned", piece, last: sink.lastPiece() }),
  };

  /** Keeps an entry as it is, unless something of it cannot be used again. */
  const keep = ({ stat }: EntryStep, before: CacheRecord): boolean => {
    if (stat.type === "file") {
      const { value } = before;
      if (!everyPlace(cache, value, isUsable)) return false;
      everyPlace(cache, value, isMarked);
    }
    sink.push({ kind: "same", record: before });
    sink.onFile(stat.type === "file" ? stat.size : 0);
    return true;
  };
  const isUsable = (pack: number): boolean => sink.isUsable(pack);
  const isMarked = (pack: number, _: number, stored: number): boolean => {
    sink.onUsed(pack, stored);
    return true;
  };
  /** @returns a promise if the file has to be read */
  const entry = (step: EntryStep, before: CacheRecord | undefined): Promise<void> | undefined => {
    const { stat } = step;
    const previous = before === undefined ? undefined : linksOf(before.value);
    const links = stat.links < 2 ? undefined : options.links.numberOf(stat, previous);
    if (before !== undefined && !options.readAll && isAsRecorded(stat, before)) {
      if (links === previous && keep(step, before)) return undefined;
      if (links !== previous && relabel(step, before, links)) return undefined;
    }
    if (stat.type === "file") {
      return file(step, before, links).catch((error: unknown) => failed(error, step, before));
    }
    try {
      other(step, before, links);
    } catch (error) {
      failed(error, step, before);
    }
    return undefined;
  };

  /** Keeps a file, with another number of its group of hard links. */
  const relabel = (step: EntryStep, before: CacheRecord, links: number | undefined): boolean => {
    const { stat, name, folder } = step;
    if (stat.type !== "file") return false;
    if (!everyPlace(cache, before.value, isUsable)) return false;
    everyPlace(cache, before.value, isMarked);
    const value = decodeValue(before.value, stat.type);
    const extra = describe(host, folder, name, stat, warningsOf(name));
    const after = encodeAfter(hashIn(value.after), withLinks(extra, links));
    const record = { ...before, value: encodeValue({ ...value, links, after }) };
    sink.push({ kind: "entry", before, record: () => record, content: "kept", last: undefined });
    sink.onFile(stat.size);
    return true;
  };

  const file = async (
    { name, folder }: EntryStep,
    before: CacheRecord | undefined,
    links: number | undefined,
  ): Promise<void> => {
    const now = ownTime();
    const chunks = readFile(host, folder, name, buffer);
    const { read, content, hash } = await readPieces(chunks, pieceSink);
    const { stat, size, isInconsistent } = read;
    const extra = withLinks(describe(host, folder, name, stat, warningsOf(name)), links);
    if (isInconsistent) {
      sink.onWarning(pathOf(name), "it changed in each of three attempts to read it");
    }
    const after = encodeAfter(hash, isInconsistent ? { ...extra, inconsistent: true } : extra);
    const state = stateOf(stat, now);
    const { uid, gid } = stat;
    const record = (): CacheRecord => ({
      kind: "entry",
      name,
      // What has changed is read again the next time.
      state: { ...state, size, isRecent: state.isRecent || isInconsistent },
      value: encodeValue({ uid, gid, links, after, content: { kind: "pieces", pieces: content } }),
    });
    const last = content.length === 0 ? undefined : sink.lastPiece();
    sink.push({ kind: "entry", before, record, content, last });
    sink.onFile(size);
  };

  const other = (
    { stat, name, folder }: EntryStep,
    before: CacheRecord | undefined,
    links: number | undefined,
  ): void => {
    const state = stateOf(stat, ownTime());
    const extra = withLinks(describe(host, folder, name, stat, warningsOf(name)), links);
    const content = { kind: "fixed", item: fixedItem(host, folder, name, stat) } as const;
    const { uid, gid } = stat;
    const value = encodeValue({ uid, gid, links, after: encodeAfter(null, extra), content });
    const record: CacheRecord = { kind: "entry", name, state, value };
    sink.push({ kind: "entry", before, record: () => record, content: [], last: undefined });
    sink.onFile(0);
  };

  /** What cannot be read is left out, as if it were gone. */
  const failed = (error: unknown, { name }: EntryStep, before: CacheRecord | undefined): void => {
    if (sink.hasFailed() || error instanceof StorageError || !(error instanceof Error)) throw error;
    if (before !== undefined) sink.push({ kind: "gone", before });
    // It went after its folder was listed, as others did before.
    if (codeOf(error) !== "ENOENT") sink.onError(pathOf(name), error);
    else if (before !== undefined) sink.onGone();
  };

  const enter = ({ name, stat, folder }: EnterStep, before: CacheRecord | undefined): void => {
    const isRoot = name.length === 0;
    const isKnown = before !== undefined && isAsRecorded(stat, before);
    const state = stateOf(stat, ownTime());
    const { uid, gid } = stat;
    const extra: Extra | undefined = isRoot
      ? {}
      : isKnown
        ? undefined
        : describe(host, folder, undefined, stat, warningsOf());
    sink.push({ kind: "enter", folder: { name, state, uid, gid, extra }, before });
    if (!isRoot) sink.onFolder();
  };

  let depth = 0;
  for (const merged of steps) {
    if (merged.kind === "unreadable") {
      const { path, error } = merged;
      sink.onError(Buffer.concat([SLASH, path]), error);
      continue;
    }
    const gone = merged.kind === "gone" ? merged.before : undefined;
    if (gone !== undefined) {
      sink.push({ kind: "gone", before: gone });
      if (gone.kind === "entry") sink.onGone();
    }
    if (merged.kind === "step") {
      const { step, before } = merged;
      if (step.kind === "enter") {
        if (depth > 0) names.push(step.name);
        depth += 1;
        if (depth === DEPTH_MAX + 2) {
          sink.onError(pathOf(), new Error(`it is more than ${DEPTH_MAX} folders deep`));
        }
      }
      // What is too deep for readers is left out.
      if (depth > DEPTH_MAX + 1) {
        if (before !== undefined) sink.push({ kind: "gone", before });
      } else if (step.kind === "enter") {
        enter(step, before);
      } else if (step.kind === "leave") {
        sink.push({ kind: "leave", before });
      } else {
        const reading = entry(step, before);
        if (reading !== undefined) await reading;
      }
      if (step.kind === "leave") {
        depth -= 1;
        names.pop();
      }
    }
    const pause = sink.pause();
    if (pause !== undefined) await pause;
  }
}

function withLinks(extra: Extra, links: number | undefined): Extra {
  return links === undefined ? extra : { ...extra, links };
}

/** The encoded content of what is neither a file nor a folder. */
function fixedItem(host: Host, folder: Folder, name: Uint8Array, stat: Stat): Uint8Array {
  if (stat.type === "link") return encodeCborT(host.readLink(folder, name));
  if (stat.type === "character-device" || stat.type === "block-device") {
    return encodeCborT([stat.major, stat.minor]);
  }
  return encodeCborT(null);
}
