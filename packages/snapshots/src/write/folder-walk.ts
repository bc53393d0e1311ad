import { type CacheRecord, isAsRecorded, stateOf } from "../cache/record.ts";
import type { Folder, Host, Stat } from "../files/host.ts";
import { afterIn, decodeValue, encodeValue, linksOf } from "./tree/record-value.ts";
import { encodeAfter, hashIn } from "../format/tree/encode-entry.ts";
import { type PieceSink, readPieces } from "./files/file-pieces.ts";
import type { Cache } from "../cache/cache.ts";
import type { Extra } from "../format/tree/entry.ts";
import type { LinkGroups } from "../walk/link-groups.ts";
import type { Merged } from "../cache/merge.ts";
import type { NewPiece } from "./packs/data-packer.ts";
import { DEPTH_MAX, PIECE_MAX } from "../format/limits.ts";
import type { Step } from "../walk/walk.ts";
import type { TreeStep } from "./entry-queue.ts";
import { codeOf, isSystemError } from "../files/errors.ts";
import { describe } from "../walk/describe.ts";
import { encodeCborT } from "@idk/storage/blobs";
import { everyPlace } from "./files/uses.ts";
import { NotAFile, readFile } from "../walk/read-file.ts";

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
  const { host, cache, links, ownTime } = options;
  /** Of the folders below the root that the walk is in. */
  const names: Uint8Array[] = [];
  const buffer = new Uint8Array(PIECE_MAX);
  /** Whether a name had no room for its group of hard links. */
  let isCrowded = false;
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

  /** Keeps an entry as it is, but for the number of its group of hard links, unless it has to be read. */
  const keep = (step: EntryStep, before: CacheRecord): boolean => {
    const { stat, name, folder } = step;
    const { value } = before;
    const isFile = stat.type === "file";
    if (options.readAll || !isAsRecorded(stat, before)) return false;
    if (isFile && !everyPlace(cache, value, isUsable)) return false;
    const previous = linksOf(value);
    const isLinked = stat.links > 1 || previous !== undefined;
    const hash = isFile && isLinked ? hashIn(afterIn(value)) : undefined;
    if (isLinked && !links.fits(stat, hash)) return false;
    if (isFile) everyPlace(cache, value, isMarked);
    sink.onFile(isFile ? stat.size : 0);
    const number = groupOf(step, stat, previous, hash);
    if (number === previous) {
      sink.push({ kind: "same", record: before });
      return true;
    }
    const extra = describe(host, folder, name, stat, warningsOf(name));
    const after = encodeAfter(hash ?? null, withLinks(extra, number));
    const changed = encodeValue({ ...decodeValue(value, stat.type), links: number, after });
    const { kind, name: recorded, state } = before;
    const record: CacheRecord = { kind, name: recorded, state, value: changed };
    sink.push({ kind: "entry", before, record: () => record, content: "kept", last: undefined });
    return true;
  };
  const isUsable = (pack: number): boolean => sink.isUsable(pack);
  const isMarked = (pack: number, _: number, stored: number): boolean => {
    sink.onUsed(pack, stored);
    return true;
  };
  /** The number of a name's group of hard links: of one content, also if that changes meanwhile. */
  const groupOf = (
    { name }: EntryStep,
    stat: Stat,
    previous: number | undefined,
    hash?: Uint8Array,
  ): number | undefined => {
    if (stat.links < 2) return undefined;
    if (!links.fits(stat, hash)) {
      sink.onWarning(
        pathOf(name),
        "it changed after another name of it was read, so it is not stored as a hard link of that",
      );
    }
    const number = links.numberOf(stat, previous, hash);
    if (number === undefined && !isCrowded) {
      isCrowded = true;
      sink.onWarning(
        pathOf(name),
        "from here on, there are too many files with other names to keep hard links: names that come " +
          "later are stored as files of their own",
      );
    }
    return number;
  };
  /** @returns a promise if the file has to be read */
  const entry = (step: EntryStep, before: CacheRecord | undefined): Promise<void> | undefined => {
    if (before !== undefined && keep(step, before)) return undefined;
    if (step.stat.type === "file") {
      return file(step, before).catch((error: unknown) => failed(error, step, before));
    }
    try {
      other(step, before);
    } catch (error) {
      failed(error, step, before);
    }
    return undefined;
  };

  const file = async (step: EntryStep, before: CacheRecord | undefined): Promise<void> => {
    const { name, folder } = step;
    const now = ownTime();
    const chunks = readFile(host, folder, name, now, buffer);
    const { read, content, hash } = await readPieces(chunks, pieceSink);
    const { stat, size, isInconsistent } = read;
    const number = groupOf(step, stat, before && linksOf(before.value), hash);
    const extra = withLinks(describe(host, folder, name, stat, warningsOf(name)), number);
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
      value: encodeValue({
        uid,
        gid,
        links: number,
        after,
        content: { kind: "pieces", pieces: content },
      }),
    });
    const last = content.length === 0 ? undefined : sink.lastPiece();
    sink.push({ kind: "entry", before, record, content, last });
    sink.onFile(size);
  };

  const other = (step: EntryStep, before: CacheRecord | undefined): void => {
    const { stat, name, folder } = step;
    const state = stateOf(stat, ownTime());
    const content = { kind: "fixed", item: fixedItem(host, folder, name, stat) } as const;
    const number = groupOf(step, stat, before && linksOf(before.value));
    const extra = withLinks(describe(host, folder, name, stat, warningsOf(name)), number);
    const { uid, gid } = stat;
    const after = encodeAfter(null, extra);
    const value = encodeValue({ uid, gid, links: number, after, content });
    const record: CacheRecord = { kind: "entry", name, state, value };
    sink.push({ kind: "entry", before, record: () => record, content: [], last: undefined });
    sink.onFile(0);
  };

  /** What cannot be read is left out, as if it were gone. */
  const failed = (error: unknown, { name }: EntryStep, before: CacheRecord | undefined): void => {
    const isOfFile = error instanceof NotAFile || isSystemError(error);
    if (sink.hasFailed() || !isOfFile) throw error;
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
