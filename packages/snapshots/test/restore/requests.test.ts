import { expect, test } from "bun:test";
import { bytes, storeFolder } from "../support/repository-writer.ts";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { openStored, printed, snapshotOf, temporaryBase } from "./support.ts";
import type { RestoreEvent } from "../../src/restore/options.ts";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { restore } from "../../src/restore/restore.ts";
import { testRepository } from "../support/repositories.ts";
import { unreadable } from "../support/unreadable.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

const host = await openHost();
const base = temporaryBase();

test("each pack is fetched once, whatever order the files are in", async () => {
  const given = await testRepository();
  // Two packs, whose pieces alternate.
  const opened = await openStored(given, async (session) => {
    const rows = [
      await session.dataPack(bytes("even".repeat(100))),
      await session.dataPack(bytes("odd!".repeat(100))),
    ];
    let next = 0;
    const shared = { ...session, dataPack: async () => rows[next++ % 2]! };
    // In the order in which they are stored, which is that of names.
    const names = Array.from({ length: 100 }, (_, at) => `f${at}`).toSorted();
    const contents = names.map((name, at) => [name, bytes(at % 2 === 0 ? "even" : "odd!")]);
    const folder = Object.fromEntries(contents);
    return storeFolder(shared, folder);
  });
  const target = join(base, "alternating");
  const summary = await restore(opened, { target });
  expect(summary).toMatchObject({ files: 100, errors: 0 });
  // The packs and the node.
  expect(given.take().get).toBe(3);
  expect(readFileSync(join(target, "f1"), "utf8")).toMatch(/^(even|odd!)$/u);
});

test("a file whose pieces come in another order is whole, also with holes between", async () => {
  const given = await testRepository();
  const parts = Array.from({ length: 9 }, (_, at) => new Uint8Array(1000).fill(at + 1));
  const [first] = parts;
  // The first pack has pieces of the beginning and the end.
  const opened = await openStored(given, async (session) => {
    const rows = new Map<string, Awaited<ReturnType<typeof session.dataPack>>>();
    const shared = {
      ...session,
      dataPack: async (content: Uint8Array) => {
        const key = Buffer.from(content).toString("hex");
        if (!rows.has(key)) rows.set(key, await session.dataPack(content));
        return rows.get(key)!;
      },
    };
    return storeFolder(shared, {
      f: [2 ** 20, first!, ...parts.slice(1).flatMap((part) => [2 ** 20, part]), first!, 2 ** 21],
    });
  });
  const target = join(base, "scattered");
  const summary = await restore(opened, { target, verify: true });
  expect(summary.errorList).toEqual([]);
  const hole = Buffer.alloc(2 ** 20);
  const expected = Buffer.concat([...parts.flatMap((part) => [hole, part]), first!, hole, hole]);
  expect(readFileSync(join(target, "f")).equals(expected)).toBe(true);
  expect(given.take().get).toBe(10);
});

test("more long files at once than are kept open are whole", async () => {
  const given = await testRepository();
  const opened = await openStored(given, async (session) => {
    const rows = [
      await session.dataPack(bytes("first;")),
      await session.dataPack(bytes("second;")),
    ];
    let next = 0;
    const shared = { ...session, dataPack: async () => rows[next++ % 2]! };
    const parts = [bytes("first;"), 4096, bytes("second;")];
    const names = Array.from({ length: 300 }, (_, at) => `f${at}`);
    return storeFolder(shared, Object.fromEntries(names.map((name) => [name, parts])));
  });
  const target = join(base, "many-long");
  const summary = await restore(opened, { target });
  expect(summary).toMatchObject({ files: 300, errors: 0 });
  expect(given.take().get).toBe(3);
  const expected = Buffer.concat([bytes("first;"), Buffer.alloc(4096), bytes("second;")]);
  for (const name of ["f0", "f150", "f299"]) {
    expect(readFileSync(join(target, name)).equals(expected)).toBe(true);
  }
});

test("events name each entry once, folders before what is in them, and end with the counts of the summary", async () => {
  const source = join(base, "events");
  mkdirSync(join(source, "d"), { recursive: true });
  writeFileSync(join(source, "d/f"), "content");
  writeFileSync(join(source, "e"), "");
  const { opened } = await snapshotOf(host, source);
  const events: RestoreEvent[] = [];
  const target = join(base, "events-restored");
  const summary = await restore(opened, { target, onEvent: (event) => events.push(event) });
  expect(events[0]).toEqual({
    kind: "start",
    announced: { files: 2, directories: 1, bytes: 7 },
    lost: host.lost,
  });
  const entries = events.flatMap((event) =>
    event.kind === "entry" ? `${Buffer.from(event.path).toString()} ${event.action}` : [],
  );
  expect(entries.toSorted()).toEqual(["d created", "d/f created", "e created"]);
  expect(entries.indexOf("d created")).toBeLessThan(entries.indexOf("d/f created"));
  const { errorList, warningList, milliseconds, snapshot, ...counts } = summary;
  const { head, marker } = opened.found;
  expect(snapshot).toEqual({ name: "home", time: head.time, address: marker.address });
  expect([errorList, warningList]).toEqual([[], []]);
  expect(milliseconds).toBeGreaterThanOrEqual(0);
  expect(events.at(-1)).toEqual({ kind: "progress", counts });
  expect(counts).toMatchObject({ files: 2, directories: 1, bytes: 7 });
});

test("a restore that is aborted leaves no temporary files, and one after it completes", async () => {
  const source = join(base, "aborted");
  mkdirSync(source);
  for (let at = 0; at < 8; at += 1) {
    writeFileSync(join(source, `f${at}`), Buffer.alloc(3 * 2 ** 20, at + 1));
  }
  const { opened } = await snapshotOf(host, source);
  const target = join(base, "aborted-restored");
  const abort = new AbortController();
  let written = 0;
  const given = {
    target,
    signal: abort.signal,
    onEvent: (event: RestoreEvent) => {
      if (event.kind === "entry") written += 1;
      if (written === 2) abort.abort();
    },
  };
  const error: unknown = await restore(opened, given).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "aborted" });
  const names = readdirSync(target);
  expect(names.length).toBeLessThan(8);
  expect(names.filter((name) => name.startsWith(".idk"))).toEqual([]);
  const summary = await restore(opened, { target, overwrite: "if-changed" });
  expect(summary.unchanged).toBe(names.length);
  expect(printed(target)).toEqual(printed(source));
});

test("files whose pack the server cannot return now are errors, and the others are restored", async () => {
  const given = await testRepository();
  const lost = new Set<string>();
  const open = async () => given.open(volatileHeadMemory(), unreadable(given.backend, lost));
  const packs: string[] = [];
  const opened = await openStored({ ...given, open }, (session) => {
    const dataPack = async (content: Uint8Array) => {
      const row = await session.dataPack(content);
      packs.push(row.address);
      return row;
    };
    return storeFolder({ ...session, dataPack }, { a: bytes("lost"), b: bytes("whole") });
  });
  lost.add(packs[0]!);
  const target = join(base, "unreadable");
  const { errorList } = await restore(opened, { target });
  expect(errorList.map(({ error }) => error)).toMatchObject([{ code: "address", transient: true }]);
  expect(readdirSync(target)).toEqual(["b"]);
});
