import {
  type Backend,
  type ReplicateFailure,
  StorageError,
  replicate,
} from "../../../src/index.ts";
import { aliceStore, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { MiB, bytesOf, filled, namesIn } from "./replicate-support.ts";

describe("a blob that cannot be copied", () => {
  test("is reported and skipped, and does not stop the others", async () => {
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

  test("does not count as failed if it was deleted after it was listed", async () => {
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

  describe("because the source cannot deliver its bytes", () => {
    const busy = new StorageError("unavailable", "busy", { transient: true });
    /** A backend on a failing disk. */
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

    test("is reported and skipped, and does not stop the others", async () => {
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

    test("ends the copy if a HEAD request for it fails too", async () => {
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

  describe("because the source refuses to return it", () => {
    const denied = new StorageError("permission", "access denied");
    const copyWithout = async (refused: number) => {
      const { from, all } = await filled();
      const names = new Set(all.slice(0, refused));
      const refuse = async (name: string): Promise<void> => {
        if (names.has(name)) throw denied;
      };
      const source: Backend = {
        ...from,
        get: (name, ...given) => refuse(name).then(async () => from.get(name, ...given)),
        head: (name, ...given) => refuse(name).then(async () => from.head(name, ...given)),
      };
      const errors: unknown[] = [];
      const to = memory();
      const end = await outcome(
        replicate(source, to, {
          roots: "as-listed",
          concurrency: 1,
          names: all,
          onFailure: ({ error }) => errors.push(error),
        }),
      );
      return { end, errors, missing: all.length - (await namesIn(to)).length };
    };

    test("is reported and skipped, and does not stop the others", async () => {
      expect(await copyWithout(7)).toEqual({
        end: "ok",
        errors: Array.from({ length: 7 }, () => denied),
        missing: 7,
      });
    });

    test("ends the copy at the eighth in a row", async () => {
      const { end, errors } = await copyWithout(8);
      expect([end, errors.length]).toEqual(["permission", 7]);
    });
  });

  test("withholds the roots with if-complete", async () => {
    const { from, store, roots, chunks } = await filled();
    const to = memory();
    const root = roots[0]!;
    const names = await Array.fromAsync(store.treeAddresses(root));
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
