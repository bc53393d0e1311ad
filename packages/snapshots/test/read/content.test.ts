import { expect, test } from "bun:test";
import { NOW, all, testRepository } from "../support/repositories.ts";
import { bytes, storeFolder, storeSnapshot, testSession } from "../support/repository-writer.ts";
import type { ContentItem } from "../../src/format/tree/content.ts";
import { encodePieceList } from "../../src/format/tree/encode-content.ts";
import type { FileEntry } from "../../src/format/tree/entry.ts";
import { createHash } from "node:crypto";
import { encodeNode } from "../../src/format/tree/node.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { treeId } from "../../src/format/tree/tree-id.ts";

type Given = Awaited<ReturnType<typeof testRepository>>;

async function open(given: Given) {
  const repository = await given.open();
  for await (const found of repository.snapshots("home")) return openSnapshot(repository, found);
  throw new Error("there is a snapshot");
}

test("a file of many packs is read in order, and each pack fetched once", async () => {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  const parts = Array.from({ length: 20 }, (_, i) => new Uint8Array(1000).fill(i));
  const tree = await storeFolder(session, { f: parts.flatMap((part) => [part, 7]) });
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW });
  const snapshot = await open(given);
  given.take();
  const content = Buffer.concat(await all(snapshot.content("f")));
  const hole = new Uint8Array(7);
  expect(content.equals(Buffer.concat(parts.flatMap((part) => [part, hole])))).toBe(true);
  // And one metadata pack.
  expect(given.take().get).toBe(21);
});

test("a range of a file fetches only the packs that have it", async () => {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  const parts = Array.from({ length: 20 }, (_, i) => new Uint8Array(1000).fill(i));
  const tree = await storeFolder(session, { f: parts.flatMap((part) => [part, 7]) });
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW });
  const snapshot = await open(given);
  const hole = new Uint8Array(7);
  const whole = Buffer.concat(parts.flatMap((part) => [part, hole]));
  for (const [start, end, packs] of [
    [0, 1, 1],
    [999, 1008, 2],
    [1001, 1005, 0],
    [10_500, 12_500, 3],
    [whole.length - 8, whole.length, 1],
    [0, whole.length, 20],
  ] as const) {
    await all(snapshot.content("f", { range: { start: 0, end: 1 } }));
    given.take();
    const found = Buffer.concat(await all(snapshot.content("f", { range: { start, end } })));
    expect(found.equals(whole.subarray(start, end))).toBe(true);
    expect(given.take().get).toBeLessThanOrEqual(packs);
  }
});

test("a reader who stops early has fetched no more than is read ahead", async () => {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  const parts = Array.from({ length: 50 }, (_, i) => new Uint8Array(1000).fill(i));
  const tree = await storeFolder(session, { f: parts });
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW });
  const snapshot = await open(given);
  given.take();
  for await (const part of snapshot.content("f")) {
    expect(part.length).toBe(1000);
    break;
  }
  expect(given.take().get).toBeLessThan(10);
});

/** A file whose pieces are in lists, of as many levels as there are numbers, the inner ones first. */
async function listed(given: Given, wrong: (lists: ContentItem[]) => ContentItem[] = (x) => x) {
  const session = testSession(given.backend, given.recipients);
  const parts = Array.from({ length: 8 }, (_, i) => bytes(`part ${i};`));
  const row = await session.dataPack(new Uint8Array(Buffer.concat(parts)));
  const inner = session.metadataPack();
  const number = inner.rowNumber(row);
  const pieces = parts.map((part, i): ContentItem => {
    const [offset, length] = [i * part.length, part.length];
    return { kind: "piece", row: number, offset, stored: length, length, encoding: "raw" };
  });
  const list = (
    from: typeof inner,
    content: readonly ContentItem[],
    levels: number,
  ): ContentItem => {
    const place = { start: from.length, rowCount: from.rowCount };
    const at = from.append(encodePieceList(content, place, levels));
    const length = content.reduce((sum, item) => sum + item.length, 0);
    return { kind: "list", row: 0, offset: at.offset, stored: at.length, length };
  };
  // Two lists of four in one pack, and a list of both, in the same pack and in another.
  const both = [0, 4].map((from) => list(inner, pieces.slice(from, from + 4), 0));
  const top = list(inner, both, 1);
  const outer = session.metadataPack();
  const away = outer.rowNumber(await inner.seal());
  const content = wrong([{ ...top, row: away } as ContentItem]);
  const whole = Buffer.concat(parts);
  const file: FileEntry = {
    type: "file",
    name: bytes("f"),
    mode: 0o644,
    uid: 0,
    gid: 0,
    mtime: { seconds: 0, nanoseconds: 0 },
    extra: {},
    size: content.reduce((sum, item) => sum + item.length, 0),
    content,
    hash: new Uint8Array(createHash("sha256").update(whole).digest()),
  };
  const at = outer.append(encodeNode([file], { start: 0, rowCount: outer.rowCount }));
  const root = [{ row: await outer.seal(), ...at, name: file.name }];
  const totals = {
    files: 1,
    directories: 0,
    bytes: file.size,
    newBytes: 0,
    storedBytes: 0,
    errors: 0,
  };
  const tree = { root, treeId: treeId([file]), totals };
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW });
  return { whole, snapshot: await open(given) };
}

test("pieces in lists of two levels are read, one metadata pack for all lists in it", async () => {
  const given = await testRepository();
  const { whole, snapshot } = await listed(given);
  given.take();
  expect(Buffer.concat(await all(snapshot.content("f"))).equals(whole)).toBe(true);
  expect(given.take().get).toBe(3);
});

test("a list that is not where the entry says, or of another length, is refused", async () => {
  const given = await testRepository();
  const moved = await listed(given, ([top]) => [{ ...top, offset: 1 } as ContentItem]);
  expect(all(moved.snapshot.content("f"))).rejects.toMatchObject({ code: "tree" });
  const other = await testRepository();
  const longer = await listed(other, ([top]) => [{ ...top!, length: top!.length + 1 }]);
  expect(all(longer.snapshot.content("f"))).rejects.toMatchObject({ code: "tree" });
});
