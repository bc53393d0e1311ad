import { describe, expect, test } from "bun:test";
import { all, testRepository, NOW } from "../support/repositories.ts";
import { bytes, storeFolder, storeSnapshot, testSession } from "../support/repository-writer.ts";
import type { Folder } from "../support/repository-writer.ts";
import { type OpenSnapshot, openSnapshot } from "../../src/read/open-snapshot.ts";
import { diff } from "../../src/read/diff.ts";
import { find } from "../../src/read/find.ts";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { close } from "../../src/rules/granting.ts";
import { changeSettings } from "../../src/repository/settings.ts";

const text = (path: Uint8Array) => Buffer.from(path).toString();
const folder: Folder = {
  a: bytes("hello"),
  empty: new Uint8Array(0),
  dir: { inner: { deep: bytes("deep") }, link: "../a" },
  holes: [bytes("x".repeat(3)), 2 ** 21, bytes("end")],
  none: {},
};

type Given = Awaited<ReturnType<typeof testRepository>>;
async function stored(given: Given, what: Folder, options = {}, generation = NOW) {
  const session = testSession(given.backend, given.recipients);
  const tree = await storeFolder(session, what, options);
  return storeSnapshot(given, given.owner, "home", session, tree, { generation });
}
async function opened(given: Given, name = "home"): Promise<OpenSnapshot> {
  const repository = await given.open();
  return openSnapshot(repository, await resolveSnapshot(repository, name));
}
const contentOf = async (snapshot: OpenSnapshot, path: string) =>
  Buffer.concat(await all(snapshot.content(path)));

describe.each([{}, { perNode: 1 }, { packEach: true }, { perNode: 2, packEach: true }])(
  "a tree stored with %p",
  (options) => {
    test("is walked in the order of names, and its files read", async () => {
      const given = await testRepository();
      await stored(given, folder, options);
      const snapshot = await opened(given);
      const entries = await all(snapshot.entries("", { recursive: true }));
      expect(entries.map(({ path }) => text(path))).toEqual([
        "a",
        "dir",
        "dir/inner",
        "dir/inner/deep",
        "dir/link",
        "empty",
        "holes",
        "none",
      ]);
      expect(entries.map(({ depth }) => depth)).toEqual([1, 1, 2, 3, 2, 1, 1, 1]);
      expect((await contentOf(snapshot, "a")).toString()).toBe("hello");
      expect((await contentOf(snapshot, "/dir/inner/deep")).toString()).toBe("deep");
      expect((await contentOf(snapshot, "empty")).length).toBe(0);
      const holes = await contentOf(snapshot, "holes");
      const expected = Buffer.concat([bytes("xxx"), Buffer.alloc(2 ** 21), bytes("end")]);
      expect(holes.equals(expected)).toBe(true);
      expect((await all(snapshot.entries("dir"))).map(({ path }) => text(path))).toEqual([
        "dir/inner",
        "dir/link",
      ]);
      expect((await all(snapshot.entries("a"))).map(({ path }) => text(path))).toEqual(["a"]);
      const found = async (pattern: string) =>
        (await all(find(snapshot, pattern))).map(({ path }) => text(path));
      expect(await found("de*")).toEqual(["dir/inner/deep"]);
      expect(await found("dir/*")).toEqual(["dir/inner", "dir/link"]);
      expect(await found("/dir/**")).toEqual(["dir/inner", "dir/inner/deep", "dir/link"]);
      expect(await found("**/deep")).toEqual(["dir/inner/deep"]);
      expect(await found("inner/deep")).toEqual([]);
      expect(await found("[!a-z]*")).toEqual([]);
      expect(await found("{a,dir}")).toEqual([]);
      const error = await found("[a").catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "usage" });
    });
  },
);

test("what is not there, or is no file, is said", async () => {
  const given = await testRepository();
  await stored(given, folder);
  const snapshot = await opened(given);
  const code = async (promise: Promise<unknown>) =>
    promise.then(
      () => "ok",
      (error: { code: string }) => error.code,
    );
  expect(await code(contentOf(snapshot, "b"))).toBe("not-found");
  expect(await code(contentOf(snapshot, "a/b"))).toBe("not-found");
  expect(await code(contentOf(snapshot, "dir"))).toBe("usage");
  expect(await code(contentOf(snapshot, "dir/link"))).toBe("usage");
  expect(await code(contentOf(snapshot, "../a"))).toBe("usage");
  expect(await code(contentOf(snapshot, ""))).toBe("usage");
});

describe("requests", () => {
  test("newest of a chain 3 and 2; a file one metadata pack for each directory, and its pack", async () => {
    const given = await testRepository();
    await stored(given, folder, { packEach: true });
    given.take();
    const snapshot = await opened(given);
    expect(given.take()).toEqual({ get: 3, list: 2, keys: 2, put: 0 });
    await contentOf(snapshot, "dir/inner/deep");
    // Root, dir, inner, and the data pack.
    expect(given.take()).toEqual({ get: 4, list: 0, keys: 0, put: 0 });
    await contentOf(snapshot, "dir/inner/deep");
    expect(given.take()).toEqual({ get: 1, list: 0, keys: 0, put: 0 });
  });

  test("one file of many thousands: one metadata pack, whatever the number of nodes", async () => {
    const given = await testRepository();
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`f${i}`, "to"]));
    await stored(given, many, { perNode: 100, packEach: true });
    const snapshot = await opened(given);
    given.take();
    expect(text((await snapshot.entry("f4321"))!.path)).toBe("f4321");
    expect(given.take().get).toBe(1);
    const entries = await all(snapshot.entries(""));
    expect(entries.length).toBe(5000);
    // Those counted are still in memory when they are read: each pack once.
    expect(given.take().get).toBe(49);
  });
});

test("what is kept of a tree does not keep the packs that it lay in", async () => {
  const given = await testRepository();
  await stored(given, Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, "to"])), {
    perNode: 2,
  });
  const snapshot = await opened(given);
  const found = await snapshot.entry("f77");
  expect(found?.entry.name.buffer.byteLength).toBeLessThan(200);
});

test("a signal ends a walk and a content that make no requests", async () => {
  const given = await testRepository();
  await stored(given, { a: [2 ** 24], b: {}, c: {} });
  const snapshot = await opened(given);
  await all(snapshot.entries(""));
  const controller = new AbortController();
  const { signal } = controller;
  const aborts = async (items: AsyncIterable<unknown>) => {
    let count = 0;
    try {
      for await (const _ of items) if ((count += 1) === 1) controller.abort();
    } catch (error) {
      return [count, (error as { code: string }).code];
    }
    return count;
  };
  expect(await aborts(snapshot.content("a", { signal }))).toEqual([1, "aborted"]);
  expect(await aborts(snapshot.entries("", { signal }))).toEqual([0, "aborted"]);
});

test("a large directory is counted and then read, and each pack is fetched once", async () => {
  const given = await testRepository();
  // Eight packs that decode to 3 MB each, more than is kept decoded.
  const target = "x".repeat(60_000);
  const entries = Array.from({ length: 400 }, (_, i) => [`f${i}`, target]);
  await stored(given, Object.fromEntries(entries), { perNode: 50, packEach: true });
  const snapshot = await opened(given);
  given.take();
  expect((await all(snapshot.entries(""))).length).toBe(400);
  expect(given.take().get).toBe(8);
});

test("diff lists what differs and does not read what is equal", async () => {
  const given = await testRepository();
  const big = { big: { x: bytes("1"), y: { z: bytes("2") } } };
  await stored(
    given,
    { ...big, gone: bytes("g"), file: bytes("1"), to: { a: bytes("a") } },
    { packEach: true },
  );
  const changed = { ...big, new: { n: bytes("n") }, file: bytes("2"), to: bytes("file") };
  await stored(given, changed, { packEach: true }, NOW + 1);
  const [before, after] = [await opened(given, "home~1"), await opened(given)];
  given.take();
  const found = await all(diff(before, after));
  expect(found.map(({ path, change }) => [text(path), change])).toEqual([
    ["file", "content"],
    ["gone", "removed"],
    ["new", "added"],
    ["new/n", "added"],
    ["to", "content"],
    ["to/a", "removed"],
  ]);
  // Both roots, and the directories that only one has.
  expect(given.take().get).toBe(4);
  expect(await all(diff(before, before))).toEqual([]);
});

test("SNAPSHOT: latest, a name, a date, so many back, an address", async () => {
  const given = await testRepository();
  const DAY = 86_400_000;
  const markers: Awaited<ReturnType<typeof stored>>[] = [];
  for (const back of [3, 2, 1]) {
    markers.push(await stored(given, { [`f${back}`]: bytes("x") }, {}, NOW - back * DAY));
  }
  const repository = await given.open();
  const at = async (choice: string) =>
    resolveSnapshot(repository, choice).then(
      ({ marker }) => markers.findIndex(({ address }) => address === marker.address),
      (error: { code: string }) => error.code,
    );
  expect(await at("home")).toBe(2);
  expect(await at("latest")).toBe(2);
  expect(await at("home~1")).toBe(1);
  expect(await at("home~3")).toBe("not-found");
  expect(await at("home@2026-11-18")).toBe(1);
  expect(await at("home@2026-11-18T11:59:59Z")).toBe(0);
  expect(await at("home@2026-11-01")).toBe("not-found");
  expect(await at("home@2026-13-01")).toBe("usage");
  expect(await at(markers[0]!.address)).toBe(0);
  expect(await at(markers[1]!.address.slice(0, 10))).toBe(1);
  expect(await at("office")).toBe("not-found");
  expect(await at(".")).toBe("usage");

  // Forgotten ones are passed over, except by address.
  const asked: number[] = [];
  const without = async (choice: string, ...forgotten: number[]) =>
    resolveSnapshot(await given.open(), choice, {
      isForgotten: async ({ marker }) => {
        const index = markers.findIndex(({ address }) => address === marker.address);
        asked.push(index);
        return forgotten.includes(index);
      },
    }).then(
      ({ marker }) => markers.findIndex(({ address }) => address === marker.address),
      (error: { code: string }) => error.code,
    );
  expect(await without("home~1", 1)).toBe(0);
  expect(await without("home~2", 1)).toBe("not-found");
  expect(await without("home@2026-11-18", 1)).toBe(0);
  expect(await without(markers[1]!.address, 1)).toBe(1);
  // The newest cannot be forgotten, so nothing is read to find out, unless its name is closed.
  asked.length = 0;
  for (const choice of ["home", "latest"]) expect(await without(choice, 2)).toBe(2);
  expect(asked).toEqual([]);
  await changeSettings(repository, given.recipients, (now, time) => close(now, "home", time));
  for (const choice of ["home", "latest"]) expect(await without(choice, 2)).toBe(1);
});
