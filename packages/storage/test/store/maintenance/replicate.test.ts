import { type Backend, type ReplicateReport, StorageError, replicate } from "../../../src/index.ts";
import { CAPABILITIES, attesting } from "../../backend/attesting.ts";
import { aliceStore, bob, codeOf, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { MiB, bytesOf, filled, namesIn, watched } from "./replicate-support.ts";

describe("replicate", () => {
  test("copies every blob to the target, roots last, without a key", async () => {
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

  test("copies roots like any other blob with as-listed, and fetches each once", async () => {
    const { from: inner, all } = await filled();
    const { backend: from, got } = watched(inner);
    const { backend: to, put } = watched(memory());
    await replicate(from, to, { roots: "as-listed", concurrency: 1 });
    expect(put.toSorted()).toEqual(all);
    expect(got.toSorted()).toEqual(all);
  });

  test("copies nothing from an empty source", async () => {
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

  test("rejects invalid options", async () => {
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

describe("a blob that the target has", () => {
  test("is skipped without a download if the target verified its checksum", async () => {
    const { from: inner, all } = await filled();
    const { backend: from, got } = watched(inner);
    const { backend: to, got: gotBack } = watched(attesting());
    await replicate(from, to);
    got.length = 0;
    expect(await replicate(from, to)).toMatchObject({ copied: 0, skipped: all.length });
    expect([got, gotBack]).toEqual([[], []]);
  });

  test("is downloaded and checked if the target verifies no checksums, and repaired if damaged", async () => {
    const { from: inner, all, chunks } = await filled();
    const { backend: from, got } = watched(inner);
    const silent: Backend = {
      ...attesting(),
      capabilities: async () => ({ ...CAPABILITIES, verifiesChecksums: false }),
    };
    for (const target of [memory(), silent]) {
      const { backend: to, got: gotBack } = watched(target);
      await replicate(from, to);
      const [same, short, long] = chunks as [string, string, string];
      await target.put(same, random((await inner.head(same))!.size));
      await target.put(short, random(3));
      await target.put(long, random(17 * MiB));
      got.length = 0;
      gotBack.length = 0;
      expect(await replicate(from, to)).toMatchObject({ copied: 3, skipped: all.length - 3 });
      expect(got.toSorted()).toEqual([same, short, long].toSorted());
      expect(new Set(gotBack)).toEqual(new Set(all));
      for (const name of all) expect(sha256(await bytesOf(target, name))).toBe(name);
    }
  });

  test("is overwritten if the target reports another checksum", async () => {
    const { from, chunks } = await filled();
    const to = attesting();
    await replicate(from, to);
    await to.put(chunks[0]!, random((await from.head(chunks[0]!))!.size));
    expect(await replicate(from, to, { trustSize: true })).toMatchObject({ copied: 1 });
    expect(sha256(await bytesOf(to, chunks[0]!))).toBe(chunks[0]!);
  });

  test("is skipped by size with trustSize", async () => {
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

  test("is sent anyway with write-only credentials", async () => {
    const { from, all } = await filled();
    const refuse = () => Promise.reject(new StorageError("permission", "not allowed"));
    const inner = memory();
    for (let round = 0; round < 2; round += 1) {
      const report = await replicate(from, { ...inner, head: refuse, get: refuse });
      expect(report).toMatchObject({ copied: all.length, skipped: 0, failed: 0 });
    }
    expect(await namesIn(inner)).toEqual(all);
  });

  test("is not copied again after an interruption", async () => {
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

describe("a signal", () => {
  const reason = new Error("the user left");

  test("ends a copy, before it starts and midway", async () => {
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

describe("the addresses of a tree", () => {
  test("are all of its blobs, the root last, and are enough to copy it", async () => {
    const { from, store, roots } = await filled();
    for (const root of roots) {
      const names = await Array.fromAsync(store.treeAddresses(root));
      expect(names.at(-1)).toBe(root);
      expect(new Set(names).size).toBe(names.length);
      const to = memory();
      await replicate(from, to, { names: store.treeAddresses(root), roots: "if-complete" });
      expect(await namesIn(to)).toEqual(names.map(String).toSorted());
      expect(await outcome(aliceStore({ backend: to }).verify(root, { deep: true }))).toBe("ok");
    }
  });

  test("require a key", async () => {
    const { store, roots } = await filled();
    const names = Array.fromAsync(store.treeAddresses(roots[0]!, { identities: [bob] }));
    expect(await outcome(names)).toBe("no-match");
    expect(await outcome(Array.fromAsync(store.treeAddresses("0".repeat(64))))).toBe("not-found");
  });
});
