import { StorageError, createStore, loadNaCl, parseIdentity } from "@idk/storage";
import { describe, expect, test } from "bun:test";
import type { ContentItem } from "../src/format/tree/content.ts";
import { decodePieceList } from "../src/format/tree/content.ts";
import { type MetadataPack, decodeMetadataPack } from "../src/format/packs/metadata-pack.ts";
import { newestSettings, verifiedHead, whyNotAllowed } from "../src/rules/counting.ts";
import { answers, toHex } from "./support.ts";
import type { Address } from "@idk/storage";
import type { RepositoryId, SessionId } from "../src/format/names/identifiers.ts";
import { compareMarkers, parseMarker } from "../src/format/names/marker.ts";
import { createHash } from "node:crypto";
import { decodePiece } from "../src/format/packs/piece.ts";
import { decodeNode } from "../src/format/tree/node.ts";
import { type Row, decodeRow } from "../src/format/packs/row.ts";
import { decodeSnapshot } from "../src/format/records/snapshot.ts";
import { RECORD_TYPES } from "../src/format/records/types.ts";
import { memory } from "@idk/storage/memory";
import { openPack } from "../src/format/packs/pack.ts";
import { ownerKeyOf } from "../src/format/keys/writer.ts";
import { treeId } from "../src/format/tree/tree-id.ts";
import type { Entry } from "../src/format/tree/entry.ts";

const identity = parseIdentity(answers.identity.identity);
const pinned = { repository: answers.chains.r as RepositoryId, owner: ownerKeyOf(identity).writer };
const naCl = await loadNaCl();

/** A store that holds some blobs. */
async function storeOf(blobs: readonly (readonly [string, Uint8Array])[]) {
  const backend = memory();
  for (const [address, bytes] of blobs) await backend.put(address, bytes);
  return createStore({ backend, identities: [identity], recipients: [identity.recipient] });
}

const blobs = Object.entries(answers.repository.blobs).map(
  ([address, base64]) => [address, new Uint8Array(Buffer.from(base64, "base64"))] as const,
);
const store = await storeOf(blobs);
const read = async (address: Address, type: string) => {
  const content = await store.get(address);
  expect(content.metadata["type"]).toBe(type);
  return content.bytes();
};

const heads = await Promise.all(
  answers.repository.markers.map(async (name) => {
    const marker = parseMarker(name);
    if (marker === undefined) throw new Error(`${name} is a marker`);
    return verifiedHead(await read(marker.address, RECORD_TYPES.head), marker, pinned);
  }),
);

describe("the known repository", () => {
  test("has heads that count, and a newest snapshot", () => {
    const settings = newestSettings(heads)?.head.settings;
    if (settings === undefined) throw new Error("there are settings");
    expect(settings.graceSeconds).toBe(604_800);
    expect(heads.map((head) => whyNotAllowed(head, settings, pinned.owner))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const home = heads.filter(({ head }) => head.name === answers.repository.snapshotOf);
    const [newest] = home.toSorted((a, b) => compareMarkers(a.marker, b.marker));
    expect(newest?.head.kind).toBe("snap");
  });

  test("does not take a head under another marker, repository or owner", async () => {
    const [{ marker }, other] = heads as [(typeof heads)[0], (typeof heads)[0]];
    const content = await read(marker.address, RECORD_TYPES.head);
    const code = (change: object, pins: object = {}) => {
      try {
        verifiedHead(content, { ...marker, ...change }, { ...pinned, ...pins });
        return "ok";
      } catch (error) {
        return error instanceof StorageError ? error.code : error;
      }
    };
    expect(code({})).toBe("ok");
    expect(code({ generation: marker.generation + 1 })).toBe("head");
    expect(code({ chain: other.marker.chain })).toBe("head");
    expect(code({}, { repository: "0".repeat(32) })).toBe("head");
    expect(code({}, { owner: "idk-writer1other" })).toBe("head");
    const damaged = new Uint8Array(content);
    damaged[damaged.length - 1]! ^= 1;
    expect(() => verifiedHead(damaged, marker, pinned)).toThrow("signature");
  });

  test("restores to the known tree", async () => {
    const snap = heads.map(({ head }) => head).find((head) => head.kind === "snap");
    if (snap?.kind !== "snap") throw new Error("there is a snapshot");
    const snapshot = decodeSnapshot(await read(snap.snapshot, RECORD_TYPES.snapshot));
    expect([snapshot.repository, snapshot.chain]).toEqual([snap.repository, snap.chain]);

    const secrets = new Map<SessionId, Uint8Array>();
    for (const [session, blob] of snapshot.sessionKeys) {
      const address = createHash("sha256").update(blob).digest("hex");
      const keys = await storeOf([[address, blob]]);
      secrets.set(session, await (await keys.get(address)).bytes());
    }
    const open = (sort: "data" | "meta", row: Row) => {
      const blob = blobs.find(([address]) => address === row.address)?.[1];
      return openPack(naCl, secrets.get(row.session)!, sort, row, new Uint8Array(blob!));
    };
    const files: object[] = [];

    const contentOf = (
      items: readonly ContentItem[],
      pack: MetadataPack,
      levels: number,
    ): Uint8Array[] =>
      items.flatMap((item) => {
        if (item.kind === "hole") return [new Uint8Array(item.length)];
        if (item.kind === "piece") {
          return [decodePiece(open("data", decodeRow(pack.row(item.row))), item)];
        }
        const holder =
          item.row === 0 ? pack : decodeMetadataPack(open("meta", decodeRow(pack.row(item.row))));
        const bytes = holder.frame.subarray(item.offset, item.offset + item.stored);
        const place = { start: item.offset, rowCount: holder.rowCount };
        return contentOf(
          decodePieceList(bytes, item.length, place, levels - 1),
          holder,
          levels - 1,
        );
      });
    const entriesOf = (
      pack: MetadataPack,
      { offset, length }: { offset: number; length: number },
    ) =>
      decodeNode(pack.frame.subarray(offset, offset + length), {
        start: offset,
        rowCount: pack.rowCount,
      });
    const NUMBERS = [
      "file",
      "directory",
      "link",
      "fifo",
      "socket",
      "character-device",
      "block-device",
    ];
    const visit = (entries: readonly Entry[], pack: MetadataPack, path: string) => {
      for (const entry of entries) {
        const own = `${path}2f${toHex(entry.name)}`;
        const content = entry.type === "file" ? contentOf(entry.content, pack, 2) : [];
        const sha256 =
          entry.type === "file"
            ? toHex(createHash("sha256").update(Buffer.concat(content)).digest())
            : null;
        if (entry.type === "file") expect(toHex(entry.hash)).toBe(sha256!);
        files.push({
          path: own,
          type: NUMBERS.indexOf(entry.type),
          mode: entry.mode,
          mtime: [entry.mtime.seconds, entry.mtime.nanoseconds],
          size: entry.type === "file" ? entry.size : 0,
          sha256,
        });
        if (entry.type === "directory") {
          const inner = entry.nodes.flatMap((node) => {
            const holder =
              node.row === 0
                ? pack
                : decodeMetadataPack(open("meta", decodeRow(pack.row(node.row))));
            return entriesOf(holder, node);
          });
          expect(toHex(treeId(inner))).toBe(toHex(entry.hash));
          visit(inner, pack, own);
        }
      }
    };
    for (const node of snapshot.root) {
      const pack = decodeMetadataPack(open("meta", node.row));
      const entries = entriesOf(pack, node);
      expect(toHex(treeId(entries))).toBe(toHex(snapshot.treeId));
      visit(entries, pack, "");
    }
    expect(files).toEqual([...answers.repository.tree]);
    expect(snapshot.totals.files).toBe(files.length - 2);
    expect(toHex(snapshot.treeId)).toBe(answers.treeIds["/"]);
  });
});
