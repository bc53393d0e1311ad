import {
  type Backend,
  type ReplicateFailure,
  type ReplicateReport,
  replicate,
} from "../../src/index.ts";
import { StorageError } from "../../src/index.ts";
import { CAPABILITIES, attesting } from "../backend/attesting.ts";
import { aliceStore, bob, codeOf, outcome, random, sha256 } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

/** Two trees and a small blob: three roots, 8 + 9 chunks. */
async function filled() {
  const from = memory();
  const store = aliceStore({ backend: from, chunkSize: CHUNK, padding: "none" });
  const roots = [
    await store.put(random(2 * MiB)),
    await store.put(random(2 * MiB + 1)),
    await store.put("small"),
  ];
  const all = await namesIn(from);
  return { from, store, roots, all, chunks: all.filter((name) => !roots.some((r) => r === name)) };
}

async function namesIn(backend: Backend): Promise<string[]> {
  return (await Array.fromAsync(backend.list(""), ({ name }) => name)).toSorted();
}

async function bytesOf(backend: Backend, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array((await backend.head(name))!.size);
  await backend.get(name, bytes);
  return bytes;
}

/** Notes the names of the blobs put and got. */
function watched(inner: Backend) {
  const put: string[] = [];
  const got: string[] = [];
  const seen = { inFlight: 0, most: 0 };
  const backend: Backend = {
    ...inner,
    put: async (...given) => {
      put.push(given[0]);
      expect(given[2]?.sha256).toBe(given[0]);
      await inner.put(...given);
    },
    get: async (...given) => {
      got.push(given[0]);
      seen.inFlight += 1;
      seen.most = Math.max(seen.most, seen.inFlight);
      await Bun.sleep(1);
      seen.inFlight -= 1;
      return inner.get(...given);
    },
  };
  return { backend, put, got, seen };
}

describe("a copy", () => {
  test("brings every blob to the target, roots last, and needs no key", async () => {
    const { from, roots, all } = await filled();
    const { backend: to, put } = watched(memory());
    const progress: ReplicateReport[] = [];
    const report = await replicate(from, to, { onProgress: (state) => progress.push(state) });
    expect(await namesIn(to)).toEqual(all);
    expect(put).toHaveLength(all.length);
    expect(put.slice(-3).toSorted()).toEqual(roots.map(String).toSorted());
    const bytes = (await Array.fromAsync(from.list(""))).reduce((sum, { size }) => sum + size, 0);
    expect(report).toEqual({
      copied: all.length,
      copiedBytes: bytes,
      skipped: 0,
      failed: 0,
      withheld: 0,
      removed: 0,
    });
    expect(progress).toHaveLength(all.length);
    expect(progress.at(-1)).toEqual(report);
    for (const root of roots) {
      expect(await outcome(aliceStore({ backend: to }).verify(root, { deep: true }))).toBe("ok");
    }
  });

  test("as listed copies roots like any blob, and fetches each once", async () => {
    const { from: inner, all } = await filled();
    const { backend: from, got } = watched(inner);
    const { backend: to, put } = watched(memory());
    await replicate(from, to, { roots: "as-listed", concurrency: 1 });
    expect(put.toSorted()).toEqual(all);
    expect(got.toSorted()).toEqual(all);
  });

  test("of nothing is nothing", async () => {
    expect(await replicate(memory(), memory())).toEqual({
      copied: 0,
      copiedBytes: 0,
      skipped: 0,
      failed: 0,
      withheld: 0,
      removed: 0,
    });
  });

  test.each([1, 3, 8])("stays within a concurrency of %d", async (concurrency) => {
    const { from } = await filled();
    const { backend, seen } = watched(from);
    await replicate(backend, memory(), { concurrency });
    expect(seen.most).toBe(concurrency);
  });

  test("refuses options that make no sense", async () => {
    for (const options of [
      { concurrency: 0 },
      { concurrency: 65 },
      { roots: "first" as never },
      { names: ["not a name"] },
    ]) {
      expect(await outcome(replicate(memory(), memory(), options))).toBe("usage");
    }
  });
});

describe("what the target has", () => {
  test("is skipped without a download where the target attests it", async () => {
    const { from: inner, all } = await filled();
    const { backend: from, got } = watched(inner);
    const { backend: to, got: gotBack } = watched(attesting());
    await replicate(from, to);
    got.length = 0;
    expect(await replicate(from, to)).toMatchObject({ copied: 0, skipped: all.length });
    expect([got, gotBack]).toEqual([[], []]);
  });

  test("is read and checked where the target attests nothing, and damage is mended", async () => {
    const { from: inner, all, chunks } = await filled();
    const { backend: from, got } = watched(inner);
    const silent: Backend = {
      ...attesting(),
      capabilities: async () => ({ ...CAPABILITIES, attestsSha256: false }),
    };
    for (const place of [memory(), silent]) {
      const { backend: to, got: gotBack } = watched(place);
      await replicate(from, to);
      const [same, short, long] = chunks as [string, string, string];
      await place.put(same, random((await inner.head(same))!.size));
      await place.put(short, random(3));
      await place.put(long, random(17 * MiB));
      got.length = 0;
      gotBack.length = 0;
      expect(await replicate(from, to)).toMatchObject({ copied: 3, skipped: all.length - 3 });
      expect(got.toSorted()).toEqual([same, short, long].toSorted());
      expect(new Set(gotBack)).toEqual(new Set(all));
      for (const name of all) expect(sha256(await bytesOf(place, name))).toBe(name);
    }
  });

  test("is garbage where the target attests something else, and is overwritten", async () => {
    const { from, chunks } = await filled();
    const to = attesting();
    await replicate(from, to);
    await to.put(chunks[0]!, random((await from.head(chunks[0]!))!.size));
    expect(await replicate(from, to, { trustSize: true })).toMatchObject({ copied: 1 });
    expect(sha256(await bytesOf(to, chunks[0]!))).toBe(chunks[0]!);
  });

  test("is taken at its size where the caller says so", async () => {
    const { from: inner, all, chunks } = await filled();
    const { backend: from, got } = watched(inner);
    const { backend: to, got: gotBack } = watched(memory());
    await replicate(from, to);
    await to.put(chunks[0]!, random(5), { sha256: chunks[0]! });
    for (const names of [undefined, all]) {
      got.length = 0;
      await replicate(from, to, { trustSize: true, names });
      expect(got).toEqual(names ? [] : [chunks[0]!]);
    }
    expect(gotBack).toEqual([]);
  });

  test("cannot be asked of who may only write, and then everything is sent", async () => {
    const { from, all } = await filled();
    const refuse = () => Promise.reject(new StorageError("permission", "not allowed"));
    const inner = memory();
    for (let round = 0; round < 2; round += 1) {
      const report = await replicate(from, { ...inner, head: refuse, get: refuse });
      expect(report).toMatchObject({ copied: all.length, skipped: 0, failed: 0 });
    }
    expect(await namesIn(inner)).toEqual(all);
  });

  test("lets an interrupted copy go on", async () => {
    const { from, roots, all } = await filled();
    const inner = attesting();
    const down = new StorageError("unavailable", "it went away");
    let puts = 0;
    const failing: Backend = {
      ...inner,
      put: async (...given) => {
        puts += 1;
        if (puts > 6) throw down;
        await inner.put(...given);
      },
    };
    expect(await replicate(from, failing).catch((error: unknown) => error)).toBe(down);
    const before = await namesIn(inner);
    expect(before.length).toBeLessThanOrEqual(6);
    for (const root of roots) expect(before).not.toContain(root);
    const report = await replicate(from, inner);
    expect(report).toMatchObject({ copied: all.length - before.length, skipped: before.length });
    expect(await namesIn(inner)).toEqual(all);
  });
});

describe("a blob that cannot be copied", () => {
  test("is reported and left out, and stops no other", async () => {
    const { from, all, chunks } = await filled();
    const [flipped, foreign, long, missing] = [
      chunks[0]!,
      random(100),
      random(17 * MiB),
      "0".repeat(64),
    ];
    const bytes = await bytesOf(from, flipped);
    bytes[bytes.length - 1]! ^= 1;
    await from.put(flipped, bytes);
    await from.put(sha256(foreign), foreign);
    await from.put(sha256(long), long);
    const to = memory();
    const failures: ReplicateFailure[] = [];
    const names = [...(await namesIn(from)), missing];
    const report = await replicate(from, to, {
      names,
      onFailure: (failure) => failures.push(failure),
    });
    expect(Object.fromEntries(failures.map(({ name, error }) => [name, error.code]))).toEqual({
      [flipped]: "address",
      [sha256(foreign)]: "format",
      [sha256(long)]: "limit",
      [missing]: "not-found",
    });
    expect(report).toMatchObject({ copied: all.length - 1, failed: 4 });
    expect(await namesIn(to)).toEqual(all.filter((name) => name !== flipped));
  });

  test("is no failure where it was listed and is gone", async () => {
    const { from: inner, all, chunks } = await filled();
    const from: Backend = {
      ...inner,
      async *list(prefix, options) {
        const listed = await Array.fromAsync(inner.list(prefix, options));
        await inner.delete(chunks[0]!);
        yield* listed;
      },
    };
    expect(await replicate(from, memory())).toMatchObject({
      copied: all.length - 1,
      failed: 0,
      removed: 1,
    });
  });

  test.each(["last", "as-listed"] as const)(
    "is a failure where it is listed and the store does not give it, roots %s",
    async (roots) => {
      const { from: inner, all, roots: addresses, chunks } = await filled();
      const lost = [chunks[0]!, String(addresses[0])];
      const from: Backend = {
        ...inner,
        get: async (name, ...given) =>
          inner.get(lost.includes(name) ? "0".repeat(64) : name, ...given),
      };
      const failures: ReplicateFailure[] = [];
      const report = await replicate(from, memory(), {
        roots,
        onFailure: (failure) => failures.push(failure),
      });
      expect(report).toMatchObject({ copied: all.length - 2, failed: 2, removed: 0 });
      expect(failures.map(({ name }) => name).toSorted()).toEqual(lost.toSorted());
      for (const { error } of failures) expect(error.code).toBe("not-found");
    },
  );

  describe("because the source does not give its bytes", () => {
    const busy = new StorageError("unavailable", "busy", { transient: true });
    /** A store on a failing disk. */
    const failing = (
      inner: Backend,
      unreadable: readonly string[],
      head = inner.head,
    ): Backend => ({
      ...inner,
      head,
      get: async (name, ...given) => {
        if (unreadable.includes(name)) throw busy;
        return inner.get(name, ...given);
      },
    });

    test("is reported and left out, and stops no other", async () => {
      const { from, all, roots } = await filled();
      const to = memory();
      const lost = [...all.slice(0, 3), String(roots[2])];
      const failures: ReplicateFailure[] = [];
      const report = await replicate(failing(from, lost), to, {
        onFailure: (failure) => failures.push(failure),
      });
      const names = [...new Set(lost)].toSorted();
      expect(failures.map(({ name }) => name).toSorted()).toEqual(names);
      for (const { error } of failures) expect(error).toBe(busy);
      expect(report).toMatchObject({ copied: all.length - names.length, failed: names.length });
    });

    test("ends the copy where the source does not tell its size either", async () => {
      const { from, all } = await filled();
      const head = () => Promise.reject(busy);
      const source = failing(from, all.slice(0, 1), head);
      const failed: unknown = await replicate(source, memory()).catch((error: unknown) => error);
      expect(failed).toBe(busy);
    });

    test("ends the copy at the eighth in a row", async () => {
      const { from, all } = await filled();
      const copyWithout = async (names: readonly string[]) => {
        let failed = 0;
        const onFailure = () => (failed += 1);
        const source = failing(from, names);
        const options = { names: all, roots: "as-listed", concurrency: 1, onFailure } as const;
        const end = await outcome(replicate(source, memory(), options));
        return { end, failed };
      };
      expect(await copyWithout(all.slice(0, 7))).toEqual({ end: "ok", failed: 7 });
      expect(await copyWithout(all.slice(0, 8))).toEqual({ end: "unavailable", failed: 7 });
      const two = [...all.slice(0, 7), ...all.slice(8, 15)];
      expect(await copyWithout(two)).toEqual({ end: "ok", failed: 14 });
    });
  });

  test("keeps roots back where the copy is to be complete", async () => {
    const { from, store, roots, chunks } = await filled();
    const to = memory();
    const root = roots[0]!;
    const names = await Array.fromAsync(store.treeNames(root));
    const chunk = chunks.find((name) => names.some((other) => other === name))!;
    const bytes = await bytesOf(from, chunk);
    await from.put(chunk, bytes.subarray(1));
    const report = await replicate(from, to, { names, roots: "if-complete" });
    expect(report).toMatchObject({ copied: 7, failed: 1, withheld: 1 });
    expect(await namesIn(to)).not.toContain(root);
    await from.put(chunk, bytes);
    expect(await replicate(from, to, { names, roots: "if-complete" })).toMatchObject({
      copied: 2,
      skipped: 7,
      withheld: 0,
    });
    expect(await outcome(aliceStore({ backend: to }).verify(root, { deep: true }))).toBe("ok");
  });
});

describe("a signal", () => {
  const reason = new Error("the user left");

  test("ends a copy, before it begins and on the way", async () => {
    const { from, roots } = await filled();
    const gone = replicate(from, memory(), { signal: AbortSignal.abort(reason) });
    expect(await outcome(gone)).toBe("aborted");
    const controller = new AbortController();
    const to = memory();
    const error: unknown = await replicate(from, to, {
      signal: controller.signal,
      onProgress: ({ copied }) => copied === 5 && controller.abort(reason),
    }).catch((thrown: unknown) => thrown);
    expect(codeOf(error)).toBe("aborted");
    expect((error as Error).cause).toBe(reason);
    for (const root of roots) expect(await namesIn(to)).not.toContain(root);
  });
});

describe("the names of a tree", () => {
  test("are all of its blobs, the root last, and make a copy of it", async () => {
    const { from, store, roots } = await filled();
    for (const root of roots) {
      const names = await Array.fromAsync(store.treeNames(root));
      expect(names.at(-1)).toBe(root);
      expect(new Set(names).size).toBe(names.length);
      const to = memory();
      await replicate(from, to, { names: store.treeNames(root), roots: "if-complete" });
      expect(await namesIn(to)).toEqual(names.map(String).toSorted());
      expect(await outcome(aliceStore({ backend: to }).verify(root, { deep: true }))).toBe("ok");
    }
  });

  test("need a key", async () => {
    const { store, roots } = await filled();
    const names = Array.fromAsync(store.treeNames(roots[0]!, { identities: [bob] }));
    expect(await outcome(names)).toBe("no-match");
    expect(await outcome(Array.fromAsync(store.treeNames("0".repeat(64))))).toBe("not-found");
  });
});
