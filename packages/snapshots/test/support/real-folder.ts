import type { Folder, Host, Stat } from "../../src/files/host.ts";
import { closeSync, constants, readFileSync } from "node:fs";
import { encodeNode } from "../../src/format/tree/node.ts";
import type { ContentItem, NodeReference } from "../../src/format/tree/content.ts";
import type { Entry } from "../../src/format/tree/entry.ts";
import type { Row } from "../../src/format/packs/row.ts";
import type { StoredTree, TestSession } from "./repository-writer.ts";
import { createHash } from "node:crypto";
import { describe } from "../../src/walk/describe.ts";
import { linkGroups } from "../../src/walk/link-groups.ts";
import { treeId } from "../../src/format/tree/tree-id.ts";

const PIECE = 2 ** 20;
const PACK = 2 ** 22;

/** Changes entries before they are stored, so that a repository claims what no folder has. */
export type Change = (entry: Entry) => Entry;

/**
 * Stores a real folder as a snapshot's tree, with everything that entries have. Small and simple: all of
 * it is in memory, each directory is one node.
 */
export async function storeRealFolder(
  host: Host,
  session: TestSession,
  folder: Folder,
  change: Change = (entry) => entry,
): Promise<StoredTree> {
  const totals = { files: 0, directories: 0, bytes: 0, newBytes: 0, storedBytes: 0, errors: 0 };
  const groups = linkGroups(1);
  const meta = session.metadataPack();
  let pieces: Uint8Array[] = [];
  let used = 0;
  /** Pieces of the data pack that is filled at present get their row when it is full. */
  let waiting: { row?: Row }[] = [];

  const sealData = async (): Promise<void> => {
    if (used === 0) return;
    const row = await session.dataPack(new Uint8Array(Buffer.concat(pieces)));
    for (const piece of waiting) piece.row = row;
    [pieces, used, waiting] = [[], 0, []];
  };
  const contentOf = async (bytes: Uint8Array) => {
    const items: { at?: { row?: Row }; offset: number; length: number }[] = [];
    for (let at = 0; at < bytes.length; at += PIECE) {
      const piece = bytes.subarray(at, at + PIECE);
      if (piece.length === PIECE && !piece.some((byte) => byte !== 0)) {
        const last = items.at(-1);
        if (last !== undefined && last.at === undefined) last.length += PIECE;
        else items.push({ offset: 0, length: PIECE });
        continue;
      }
      if (used + piece.length > PACK) await sealData();
      const place = {};
      items.push({ at: place, offset: used, length: piece.length });
      waiting.push(place);
      pieces.push(piece);
      used += piece.length;
    }
    return (): ContentItem[] =>
      items.map(({ at, offset, length }) =>
        at === undefined
          ? { kind: "hole", length }
          : {
              kind: "piece",
              row: meta.rowNumber(at.row!),
              offset,
              stored: length,
              length,
              encoding: "raw",
            },
      );
  };

  type Made = { entry: Entry; content?: () => ContentItem[]; nodes?: NodeReference[] };
  const entryOf = async (parent: Folder, name: Uint8Array, stat: Stat): Promise<Made> => {
    const group = groups.numberOf(stat);
    const common = {
      name: new Uint8Array(name),
      mode: stat.mode,
      uid: stat.uid,
      gid: stat.gid,
      mtime: stat.mtime,
      extra: {
        ...describe(host, parent, name, stat, () => {}),
        ...(group !== undefined && { links: group }),
      },
    };
    if (stat.type === "directory") {
      totals.directories += 1;
      const open = host.openFolder(parent, name);
      const inner = await directory(open);
      host.close(open);
      return {
        entry: { ...common, type: "directory", nodes: [], hash: inner.hash },
        nodes: inner.nodes,
      };
    }
    totals.files += 1;
    if (stat.type === "file") {
      const fd = host.openFile(parent, name, constants.O_RDONLY);
      const bytes = new Uint8Array(readFileSync(fd));
      closeSync(fd);
      totals.bytes += bytes.length;
      const hash = new Uint8Array(createHash("sha256").update(bytes).digest());
      const content = await contentOf(bytes);
      return {
        entry: { ...common, type: "file", size: bytes.length, content: [], hash },
        content,
      };
    }
    if (stat.type === "link") {
      return { entry: { ...common, type: "link", target: host.readLink(parent, name) } };
    }
    if (stat.type === "fifo" || stat.type === "socket") {
      return { entry: { ...common, type: stat.type } };
    }
    return { entry: { ...common, type: stat.type, major: stat.major, minor: stat.minor } };
  };

  /** Content is known only when its pack is sealed, so all nodes are encoded at the end. */
  const later: (() => void)[] = [];
  const directory = async (open: Folder): Promise<{ nodes: NodeReference[]; hash: Uint8Array }> => {
    const names = host.list(open);
    names.sort();
    const made: Made[] = [];
    for (let at = 0; at < names.length; at += 1) {
      const name = names.name(at);
      const one = await entryOf(open, name, host.stat(open, name)!);
      made.push({ ...one, entry: change(one.entry) });
    }
    const references: NodeReference[] = [];
    if (made.length > 0) {
      later.push(() => {
        const entries = made.map(({ entry, content, nodes: inner }): Entry => {
          if (entry.type === "file" && content !== undefined) {
            return { ...entry, content: content() };
          }
          return entry.type === "directory" ? { ...entry, nodes: inner! } : entry;
        });
        const place = { start: meta.length, rowCount: meta.rowCount };
        const where = meta.append(encodeNode(entries, place));
        references.push({ row: 0, ...where, name: entries[0]!.name });
      });
    }
    return { nodes: references, hash: treeId(made.map(({ entry }) => entry)) };
  };

  const { nodes: root, hash } = await directory(folder);
  await sealData();
  for (const encode of later) encode();
  const row = await meta.seal();
  return {
    root: root.map(({ offset, length, name }) => ({ offset, length, name, row })),
    treeId: hash,
    totals,
  };
}
