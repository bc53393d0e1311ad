import { alice, aliceStore, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { forgeTree, unopenable } from "../forged-tree.ts";
import { type Backend, StorageError } from "../../../src/index.ts";
import { CHILD_OVERHEAD, FANOUT } from "../../../src/format/limits.ts";
import { attesting } from "../../backend/attesting.ts";
import { memory } from "../../../src/backend/memory.ts";
import { watched } from "../watched.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

/** A store with 2 MiB of content in 8 chunks. */
async function withTree(inner: Backend) {
  const { backend, calls, forget } = watched(inner);
  const store = aliceStore({ backend, chunkSize: CHUNK });
  const root = await store.put(random(2 * MiB));
  const chunks = (await Array.fromAsync(store.list())).map(({ address }) => String(address));
  forget();
  return { store, calls, root, chunks: chunks.filter((address) => address !== root) };
}

describe("verify with complete", () => {
  test("downloads only the root, and reports what the server verified", async () => {
    for (const [inner, verified] of [
      [attesting(), 8],
      [memory(), 0],
    ] as const) {
      const { store, calls, root, chunks } = await withTree(inner);
      const seen: number[] = [];
      const report = await store.verify(root, {
        complete: true,
        onProgress: ({ bytes }) => seen.push(bytes),
      });
      expect(report).toMatchObject({
        address: root,
        kind: "root",
        blobs: 9,
        verifiedByServer: verified > 0,
        completeness: { chunks: 8, verifiedByServer: verified },
      });
      expect(report.bytes).toBe((await store.stat(root)).storedBytes);
      expect(calls.get).toEqual([root, root]);
      expect(calls.head.filter((name) => name !== root).toSorted()).toEqual(chunks.toSorted());
      expect(seen.at(-1)).toBe(2 * MiB);
    }
  });

  test("detects a missing chunk, which a check of the blobs does not", async () => {
    const inner = attesting();
    const { store, root, chunks } = await withTree(inner);
    await inner.delete(chunks[3]!);
    expect((await store.verify(root)).kind).toBe("root");
    const error = await store.verify(root, { complete: true }).catch((reason: Error) => reason);
    expect(error).toMatchObject({
      code: "not-found",
      message: `the store has no blob ${chunks[3]}, a chunk of ${root}`,
    });
  });

  test("reports no progress once it has failed", async () => {
    const inner = memory();
    const { root, chunks } = await withTree(inner);
    const answered: Promise<void>[] = [];
    const head: Backend["head"] = async (name) => {
      if (name === chunks[0]) {
        await Bun.sleep(20);
        throw new StorageError("permission", "refused");
      }
      const late = Bun.sleep(50 * (answered.length + 1));
      answered.push(late);
      await late;
      // It was answered when the call was aborted.
      return inner.head(name);
    };
    let progress = 0;
    const verifying = aliceStore({ backend: { ...inner, head } }).verify(root, {
      complete: true,
      onProgress: () => (progress += 1),
    });
    expect(await outcome(verifying)).toBe("permission");
    const before = progress;
    await Promise.all(answered);
    await Bun.sleep(5);
    expect(answered.length).toBeGreaterThan(0);
    expect(progress).toBe(before);
  });

  test("detects a chunk of another size, and of another checksum", async () => {
    const inner = attesting();
    const { store, root, chunks } = await withTree(inner);
    const truncated: Backend = {
      ...inner,
      head: async (name, options) => {
        const info = await inner.head(name, options);
        return name === chunks[0] ? { ...info!, size: info!.size - 1 } : info;
      },
    };
    const replaced: Backend = {
      ...inner,
      head: async (name, options) => {
        const info = await inner.head(name, options);
        return name === chunks[0] ? { ...info!, sha256: "0".repeat(64) } : info;
      },
    };
    const check = (backend: Backend) =>
      outcome(aliceStore({ backend }).verify(root, { complete: true }));
    expect(await check(truncated)).toBe("tree");
    expect(await check(replaced)).toBe("address");
    expect(await outcome(store.verify(root, { complete: true }))).toBe("ok");
  });

  test("inline content is complete without another request", async () => {
    const { backend, calls } = watched(attesting());
    const store = aliceStore({ backend });
    const root = await store.put("x");
    expect(await store.verify(root, { complete: true })).toMatchObject({
      blobs: 1,
      verifiedByServer: false,
      completeness: { chunks: 0, verifiedByServer: 0 },
    });
    expect(calls.head).toEqual([]);
  });

  test("asks once for a chunk that a forged root refers to many times", async () => {
    const { backend, calls } = watched(memory());
    const store = aliceStore({ backend });
    const size = CHUNK + CHILD_OVERHEAD;
    const chunk = "a".repeat(64);
    await backend.put(chunk, new Uint8Array(size));
    const references = Array.from({ length: 5000 }, () => unopenable(chunk));
    const root = await forgeTree(backend, alice.recipient, references);
    calls.head.length = 0;
    const report = await store.verify(root, { complete: true });
    expect(report.completeness).toEqual({ chunks: 1, verifiedByServer: 0 });
    expect(calls.head).toEqual([chunk]);
  });

  test("checks a chunk that a forged tree also refers to as a node", async () => {
    const { backend } = watched(memory());
    const chunk = "a".repeat(64);
    await backend.put(chunk, new Uint8Array(CHUNK + CHILD_OVERHEAD));
    const stored: string[] = [];
    const put: Backend["put"] = async (name, ...rest) => {
      stored.push(name);
      return backend.put(name, ...rest);
    };
    // Read when the second node is written. A full node is as long as a chunk.
    const firstNode = {
      get address() {
        return stored[0]!;
      },
      contentKey: new Uint8Array(32),
    };
    const leaves = [...Array.from({ length: FANOUT }, () => unopenable(chunk)), firstNode];
    const root = await forgeTree({ ...backend, put }, alice.recipient, leaves);
    const report = await aliceStore({ backend }).verify(root, { complete: true });
    expect(report.completeness).toEqual({ chunks: 2, verifiedByServer: 0 });
  });

  test("takes a root that an identity opens, and no other check beside it", async () => {
    const { store, root, chunks } = await withTree(memory());
    expect(await outcome(store.verify(chunks[0]!, { complete: true }))).toBe("format");
    const options = { complete: true, identities: [] };
    expect(await outcome(store.verify(root, options))).toBe("no-match");
    for (const other of [{ deep: true }, { serverChecksums: true }]) {
      expect(await outcome(store.verify(root, { complete: true, ...other }))).toBe("usage");
    }
  });
});
