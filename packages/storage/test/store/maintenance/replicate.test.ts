import {
  type Backend,
  type ReplicateOptions,
  type ReplicateReport,
  StorageError,
  replicate,
  withRetry,
  wrapBackend,
} from "../../../src/index.ts";
import { CAPABILITIES, attesting } from "../../backend/attesting.ts";
import { aliceStore, bob, codeOf, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import {
  MiB,
  SMALL,
  bytesOf,
  filled,
  manySmall,
  namesIn,
  refusingEachTenth,
  watched,
} from "./replicate-support.ts";

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
    const { backend, seen } = watched(await manySmall());
    await replicate(backend, memory(), { concurrency });
    expect(seen.most).toBe(concurrency);
  });

  test("has more and more small blobs in flight, as far as memory goes", async () => {
    const from = await manySmall();
    const most = async (options: ReplicateOptions, backend = from, ms?: number) => {
      const { backend: source, seen } = watched(backend, ms);
      expect((await replicate(source, memory(), options)).copied).toBe(SMALL);
      return seen.most;
    };
    // Far longer than the processor takes for a blob.
    expect(await most({}, from, 50)).toBeGreaterThan(8);
    // Two of them need none.
    expect(await most({ memory: 1 })).toBe(2);
    const refusing = refusingEachTenth(from);
    const retried = await most({}, withRetry(refusing, { firstDelayMs: 1, maxDelayMs: 2 }));
    expect(retried).toBeLessThan(24);
  });

  test("has more and more small blobs in flight, also after one of 16 MiB", async () => {
    const from = await manySmall();
    await aliceStore({ backend: from, chunkSize: 2 ** 24 }).put(random(2 ** 24));
    const first: Backend = {
      ...from,
      async *list(...given) {
        const blobs = await Array.fromAsync(from.list(...given));
        yield* blobs.toSorted((a, b) => b.size - a.size);
      },
    };
    const { backend, seen } = watched(first, 50);
    expect((await replicate(backend, memory(), { roots: "as-listed" })).copied).toBe(SMALL + 2);
    expect(seen.most).toBeGreaterThan(8);
  });

  test("has few large blobs in flight, also after small ones and if it only compares them", async () => {
    const from = await manySmall();
    const writer = aliceStore({ backend: from });
    await Promise.all(Array.from({ length: 40 }, () => writer.put(random(2 ** 17))));
    const sizes = new Map(await Array.fromAsync(from.list(""), ({ name, size }) => [name, size]));
    const mostLarge = async (to: Backend) => {
      let [now, most] = [0, 0];
      const counted =
        <Rest extends unknown[], T>(method: (name: string, ...rest: Rest) => Promise<T>) =>
        async (name: string, ...rest: Rest): Promise<T> => {
          const isLarge = sizes.get(name)! > 2 ** 16;
          if (isLarge) most = Math.max(most, ++now);
          await Bun.sleep(2);
          if (isLarge) now -= 1;
          return method(name, ...rest);
        };
      const counting: Backend = { ...to, get: counted(to.get), put: counted(to.put) };
      await replicate(from, counting);
      return most;
    };
    const to = memory();
    for (const pass of ["copied", "compared"]) {
      const most = await mostLarge(to);
      expect(most, pass).toBeGreaterThan(1);
      expect(most, pass).toBeLessThanOrEqual(8);
    }
  });

  test("copies a blob that is longer than listed", async () => {
    const { from, all } = await filled();
    const short: Backend = {
      ...from,
      list: async function* (...given) {
        for await (const blob of from.list(...given)) yield { ...blob, size: 10 };
      },
    };
    const to = memory();
    expect(await replicate(short, to)).toMatchObject({ copied: all.length, failed: 0 });
    for (const name of all) expect(sha256(await bytesOf(to, name))).toBe(name);
  });

  test("has two in flight of those that are longer than listed, until the target has them", async () => {
    const from = memory();
    const writer = aliceStore({ backend: from });
    await Promise.all(Array.from({ length: 12 }, () => writer.put(random(2 ** 17))));
    let [now, most] = [0, 0];
    const to = memory();
    const slow: Backend = {
      ...to,
      async put(...given) {
        most = Math.max(most, ++now);
        await Bun.sleep(5);
        now -= 1;
        return to.put(...given);
      },
    };
    for (const size of [100, 2 ** 16 + 1]) {
      const lying: Backend = {
        ...from,
        list: async function* (...given) {
          for await (const blob of from.list(...given)) yield { ...blob, size };
        },
      };
      for (const { name } of await Array.fromAsync(to.list(""))) await to.delete(name);
      expect((await replicate(lying, slow, { roots: "as-listed" })).copied).toBe(12);
    }
    expect(most).toBe(2);
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

  describe.each<[string, (inner: Backend) => Backend, boolean]>([
    ["verified its checksum", attesting, false],
    ["has the right size, with trustSize", (inner) => inner, true],
  ])("that %s", (_, make, trustSize) => {
    /** A source and a target that has all of it, and what is read of them from now on. */
    async function copied() {
      const { from, all, chunks } = await filled();
      const inner = make(memory());
      await replicate(from, inner);
      const ranges: Record<"from" | "to", { name: string; offset: number; length: number }[]> = {
        from: [],
        to: [],
      };
      const watch = (which: "from" | "to", backend: Backend) =>
        wrapBackend(backend, {
          getRange: (getRange) => async (name, offset, buffer, options) => {
            ranges[which].push({ name, offset, length: buffer.length });
            return getRange(name, offset, buffer, options);
          },
        });
      return { from, to: inner, all, chunks, ranges, watch };
    }

    test("is compared in size and in 64 random bytes", async () => {
      const { from, to, all, ranges, watch } = await copied();
      const { backend: source, got } = watched(watch("from", from));
      const { backend: target, got: gotBack } = watched(watch("to", to));
      const report = await replicate(source, target, { trustSize });
      expect(report).toMatchObject({ copied: 0, skipped: all.length });
      expect([got, gotBack]).toEqual([[], []]);
      expect(ranges.to.map(({ name }) => name).toSorted()).toEqual(all);
      const order = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
      expect(ranges.from.toSorted(order)).toEqual(ranges.to.toSorted(order));
      for (const { name, length } of ranges.to) {
        expect(length).toBe(Math.min(64, (await to.head(name))!.size));
      }
      expect(new Set(ranges.to.map(({ offset }) => offset)).size).toBeGreaterThan(10);
    });

    test.each<[string, (buffer: Uint8Array) => Promise<number>]>([
      [
        "returns other bytes",
        async (buffer) => {
          buffer.set(random(buffer.length));
          return buffer.length;
        },
      ],
      ["has lost them", () => Promise.reject(new StorageError("not-found", "it is not here"))],
      ["refuses to read them", () => Promise.reject(new StorageError("permission", "no"))],
    ])("is copied again if the target %s", async (_what, answer) => {
      const { from, to, all } = await copied();
      const target: Backend = {
        ...to,
        get: async (_name, buffer) => answer(buffer.subarray(0, 100)),
        getRange: async (_name, _offset, buffer) => answer(buffer),
      };
      const report = await replicate(from, target, { trustSize });
      expect(report).toMatchObject({ copied: all.length, skipped: 0, failed: 0 });
    });

    test("is copied again if its size is another, whatever checksum the target reports", async () => {
      const { from, to, all, chunks } = await copied();
      const whole = await bytesOf(to, chunks[0]!);
      const head: Backend["head"] = async (name, options) => {
        const info = await to.head(name, options);
        return info && { ...info, ...(info.sha256 !== undefined && { sha256: name }) };
      };
      for (const names of [undefined, all]) {
        await to.put(chunks[0]!, whole.subarray(0, -1));
        const { backend, put } = watched({ ...to, head });
        const report = await replicate(from, backend, { trustSize, names });
        expect(report).toMatchObject({ copied: 1, skipped: all.length - 1, failed: 0 });
        expect(put).toEqual([chunks[0]!]);
        expect(await bytesOf(to, chunks[0]!)).toEqual(whole);
      }
    });

    test("is downloaded from the target and checked if the source has lost or damaged it", async () => {
      const { from, to, all, chunks } = await copied();
      await from.delete(chunks[0]!);
      await from.put(chunks[1]!, random((await to.head(chunks[1]!))!.size));
      const { backend: target, got } = watched(to);
      const report = await replicate(from, target, { trustSize, names: all });
      expect(report).toMatchObject({ copied: 0, skipped: all.length, failed: 0 });
      expect(got.toSorted()).toEqual(chunks.slice(0, 2).toSorted());
    });
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
