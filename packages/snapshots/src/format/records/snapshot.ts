import { FRAME_DECODED_MAX, HASH_LENGTH, RECORD_MAX, ROW_LENGTH, SESSIONS_MAX } from "../limits.ts";
import {
  array,
  byteString,
  decodedItem,
  decoding,
  malformed,
  record,
  text,
  tuple,
  uint,
  versionOne,
} from "../checks.ts";
import {
  type ChainId,
  type RepositoryId,
  type SessionId,
  chainId,
  repositoryId,
} from "../names/identifiers.ts";
import { type Row, decodeRow, encodeRow } from "../packs/row.ts";
import { type CborItem, encodeCborT, fromHex } from "@idk/storage/blobs";
import { decodeSessions } from "./session-keys.ts";
import { entryName } from "../tree/content.ts";

/** Where one of the root directory's nodes lies. */
export interface RootNode {
  readonly row: Row;
  /** In the decoded frame of the pack. */
  readonly offset: number;
  /** Bytes in the decoded frame. */
  readonly length: number;
  /** The name of the node's first entry. */
  readonly name: Uint8Array;
}

/** What a snapshot announces about its tree. */
export interface Totals {
  /** All entries but directories. */
  readonly files: number;
  /** Directories, without the root. */
  readonly directories: number;
  /** The sizes of all files, each hard link counted. */
  readonly bytes: number;
  /** Bytes of files that no earlier pack had. */
  readonly newBytes: number;
  /** Bytes that were stored. */
  readonly storedBytes: number;
  /** Files and directories that could not be read. */
  readonly errors: number;
}

/** The state of folders at one time. */
export interface Snapshot {
  readonly repository: RepositoryId;
  readonly chain: ChainId;
  /** The root directory's nodes, in the order of their names; none if it is empty. */
  readonly root: readonly RootNode[];
  /** The root directory's tree id. */
  readonly treeId: Uint8Array;
  /** By session, a root blob of format 1 whose content is the session's secret. At most 512. */
  readonly sessionKeys: ReadonlyMap<SessionId, Uint8Array>;
  readonly host: string;
  readonly user: string;
  /** The paths that were given, as bytes of the file system: absolute, with links above them resolved. */
  readonly paths: readonly Uint8Array[];
  readonly excludes: readonly string[];
  /** Milliseconds since 1970, by the host's clock. */
  readonly start: number;
  readonly end: number;
  readonly totals: Totals;
}

/**
 * Encodes a snapshot: the content of a blob of the type `RECORD_TYPES.snapshot`.
 *
 * @throws StorageError `tree` if a reader would refuse it
 */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array<ArrayBuffer> {
  const { totals } = snapshot;
  const bytes = encodeCborT(
    new Map<string, CborItem>([
      ["v", 1],
      ["r", fromHex(snapshot.repository)],
      ["c", fromHex(snapshot.chain)],
      [
        "t",
        snapshot.root.map(({ row, offset, length, name }) => [
          encodeRow(row),
          offset,
          length,
          name,
        ]),
      ],
      ["h", snapshot.treeId],
      ["k", snapshot.sessionKeys],
      ["n", snapshot.host],
      ["u", snapshot.user],
      ["p", snapshot.paths],
      ["x", snapshot.excludes],
      ["a", snapshot.start],
      ["b", snapshot.end],
      [
        "s",
        new Map([
          ["files", totals.files],
          ["dirs", totals.directories],
          ["bytes", totals.bytes],
          ["new", totals.newBytes],
          ["stored", totals.storedBytes],
          ["errors", totals.errors],
        ]),
      ],
    ]),
  );
  decodeSnapshot(bytes);
  return bytes;
}

/**
 * Decodes a snapshot. The caller compares its repository and chain with those of the head.
 *
 * @throws StorageError `tree`
 */
export function decodeSnapshot(bytes: Uint8Array): Snapshot {
  return decoding("tree", "the snapshot", () => {
    const fields = record(decodedItem(bytes, RECORD_MAX), "it", FIELDS);
    versionOne(fields.v);
    const sessionKeys = decodeSessions(fields.k, SESSIONS_MAX, (key) => {
      if (key.length === 0) throw malformed("the key of a session is empty");
    });
    return {
      repository: repositoryId(fields.r, "its repository"),
      chain: chainId(fields.c, "its chain"),
      root: decodeRoot(fields.t, sessionKeys),
      treeId: byteString(fields.h, "its tree id", HASH_LENGTH),
      sessionKeys,
      host: text(fields.n, "its host"),
      user: text(fields.u, "its user"),
      paths: array(fields.p, "its paths").map((path) => byteString(path, "a path")),
      excludes: array(fields.x, "its excludes").map((pattern) => text(pattern, "an exclude")),
      start: uint(fields.a, "its start"),
      end: uint(fields.b, "its end"),
      totals: decodeTotals(fields.s),
    };
  });
}

const FIELDS = ["v", "r", "c", "t", "h", "k", "n", "u", "p", "x", "a", "b", "s"] as const;

function decodeRoot(item: CborItem, sessions: ReadonlyMap<SessionId, Uint8Array>): RootNode[] {
  const nodes: RootNode[] = [];
  let previous: Uint8Array | undefined;
  for (const inner of array(item, "the nodes of its root")) {
    const fields = tuple(inner, "a node of its root", 4);
    const row = decodeRow(byteString(fields[0], "the row of a node", ROW_LENGTH));
    if (!sessions.has(row.session)) throw malformed("it has no key for the session of its root");
    const offset = uint(fields[1], "the offset of a node");
    const length = uint(fields[2], "the length of a node");
    if (length === 0 || offset + length > FRAME_DECODED_MAX) {
      throw malformed("a node lies beyond the end of its frame");
    }
    const name = entryName(fields[3]);
    if (previous !== undefined && Buffer.compare(previous, name) >= 0) {
      throw malformed("the nodes of its root are out of order");
    }
    previous = name;
    nodes.push({ row, offset, length, name });
  }
  return nodes;
}

function decodeTotals(item: CborItem): Totals {
  const fields = record(item, "its totals", ["files", "dirs", "bytes", "new", "stored", "errors"]);
  return {
    files: uint(fields.files, "its number of files"),
    directories: uint(fields.dirs, "its number of directories"),
    bytes: uint(fields.bytes, "its bytes"),
    newBytes: uint(fields.new, "its new bytes"),
    storedBytes: uint(fields.stored, "its stored bytes"),
    errors: uint(fields.errors, "its number of errors"),
  };
}
