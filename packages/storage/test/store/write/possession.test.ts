import {
  type Backend,
  type LeafReference,
  type PutReport,
  StorageError,
  withRetry,
  wrapBackend,
} from "../../../src/index.ts";
import { aliceStore, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { attesting } from "../../backend/attesting.ts";
import { memory } from "../../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

/** A journal that remembers everything, and the options of a put that resumes with it. */
function remembered() {
  const entries = new Map<number, LeafReference>();
  const journal = {
    known: async (index: number) => entries.get(index),
    stored: async (index: number, leaf: LeafReference) => void entries.set(index, leaf),
  };
  return { journal };
}

/** Counts the puts, and records the ranged reads. */
function watched(inner: Backend) {
  const puts: string[] = [];
  const ranges: { name: string; offset: number; length: number }[] = [];
  const backend = wrapBackend(inner, {
    put:
      (put) =>
      async (name, ...rest) => {
        puts.push(name);
        await put(name, ...rest);
      },
    getRange: (getRange) => async (name, offset, buffer, options) => {
      ranges.push({ name, offset, length: buffer.length });
      return getRange(name, offset, buffer, options);
    },
  });
  return { backend, puts, ranges };
}

/** Keeps a blob's size, and claims that its checksum is its name, whatever it really has. */
function claiming(inner: Backend, read: Partial<Backend>): Backend {
  const sizes = new Map<string, number>();
  return {
    ...attesting(inner),
    put: async (name, bytes, options) => {
      await inner.put(name, bytes, options);
      sizes.set(name, bytes.length);
    },
    head: async (name) => {
      const size = sizes.get(name);
      return size === undefined ? undefined : { size, sha256: name };
    },
    ...read,
  };
}

const missing = async () => {
  throw new StorageError("not-found", "it is not here");
};
const refused = async () => {
  throw new StorageError("permission", "reading is not allowed here");
};
const garbage = async (_: string, __: number, buffer: Uint8Array) => {
  buffer.set(random(buffer.length));
  return buffer.length;
};

describe.each(["a dedup secret", "a journal"])("a put with %s", (kind) => {
  const content = random(2 * MiB + 7);
  const options = kind === "a journal" ? {} : { dedupSecret: random(32) };
  /** What is sent again without being asked for: without a dedup secret, the root is another. */
  const unproven = kind === "a journal" ? 1 : 0;

  test.each<[string, Partial<Backend>]>([
    ["has lost the blobs", { getRange: missing, get: missing }],
    ["has other bytes", { getRange: garbage }],
    ["has a part only", { getRange: async () => 3 }],
    ["does not let it read", { getRange: refused, get: refused }],
  ])("sends what the store claims to have if it %s", async (_, read) => {
    const { backend, puts } = watched(claiming(memory(), read));
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none", ...options });
    const { journal } = remembered();
    await store.put(content, { journal });
    const first = puts.splice(0);
    expect(first).toHaveLength(10);
    await store.put(content, { journal });
    expect(puts.toSorted().filter((name) => first.includes(name))).toEqual(
      first.filter((name) => unproven === 0 || name !== first.at(-1)).toSorted(),
    );
  });

  test("reads 64 bytes of each blob it skips, at a place that differs", async () => {
    const { backend, puts, ranges } = watched(attesting());
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none", ...options });
    const { journal } = remembered();
    await store.put(content, { journal });
    const first = puts.splice(0);
    expect(ranges).toEqual([]);
    const address = await store.put(content, { journal });
    expect(puts).toHaveLength(unproven);
    expect(ranges.map(({ name }) => name).toSorted()).toEqual(
      first.filter((name) => unproven === 0 || name !== first.at(-1)).toSorted(),
    );
    for (const { name, offset, length } of ranges) {
      expect(length).toBe(64);
      expect(offset + length).toBeLessThanOrEqual((await backend.head(name))!.size);
    }
    expect(new Set(ranges.map(({ offset }) => offset)).size).toBeGreaterThan(4);
    expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
  });

  test("skips on a backend without ranged reads after reading the whole blob", async () => {
    const { getRange: _, ...inner } = attesting();
    const { backend, puts } = watched(inner);
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none", ...options });
    const { journal } = remembered();
    await store.put(content, { journal });
    puts.length = 0;
    await store.put(content, { journal });
    expect(puts).toHaveLength(unproven);
  });

  test("sends everything if the ranged read fails, even if it may succeed later", async () => {
    const busy = async () => {
      throw new StorageError("unavailable", "it is busy", { transient: true });
    };
    const store = aliceStore({
      backend: { ...attesting(), getRange: busy },
      chunkSize: CHUNK,
      ...options,
    });
    const { journal } = remembered();
    await store.put(content, { journal });
    const reports: PutReport[] = [];
    await store.put(content, { journal, onReport: (report) => reports.push(report) });
    expect(reports[0]).toMatchObject({ skippedChunks: 0, skippedBytes: 0 });
  });

  describe("while the store fails", () => {
    const BUDGET_MS = 60_000;
    const busy = (call: string) =>
      new StorageError("unavailable", `no answer to ${call}`, { transient: true });

    /** A store after a first put, of which some calls then fail, and the waits of its retries. */
    async function failingStore(calls: readonly (keyof Backend)[]) {
      let [fails, now] = [false, 0];
      const clock = {
        now: () => now,
        random: () => 0.5,
        sleep: async (ms: number) => void (now += ms),
      };
      const failing: Record<string, unknown> = {};
      for (const call of calls) {
        failing[call] =
          (inner: (...given: unknown[]) => unknown) =>
          async (...given: unknown[]) => {
            if (fails) throw busy(call);
            return inner(...given);
          };
      }
      const { backend, puts } = watched(wrapBackend(attesting(), failing));
      const store = aliceStore({
        backend: withRetry(backend, { budgetMs: BUDGET_MS }, clock),
        chunkSize: CHUNK,
        padding: "none",
        concurrency: 1,
        ...options,
      });
      const { journal } = remembered();
      await store.put(content, { journal });
      fails = true;
      puts.length = 0;
      const put = () => store.put(content, { journal });
      return { put, puts, waitedMs: () => now };
    }

    test("to return bytes, sends every blob without spending the retry budget", async () => {
      const { put, puts, waitedMs } = await failingStore(["getRange"]);
      await put();
      expect(new Set(puts).size).toBe(10);
      expect(waitedMs()).toBeGreaterThan(0);
      expect(waitedMs()).toBeLessThan(BUDGET_MS / 10);
    });

    test("fails with the error of the outage within one retry budget", async () => {
      const { put, puts, waitedMs } = await failingStore(["getRange", "get", "put"]);
      const error: unknown = await put().catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: "unavailable", message: "no answer to put" });
      expect(new Set(puts).size).toBe(1);
      expect(waitedMs()).toBeGreaterThan(BUDGET_MS / 2);
      expect(waitedMs()).toBeLessThan(BUDGET_MS * 1.1);
    });
  });
});
