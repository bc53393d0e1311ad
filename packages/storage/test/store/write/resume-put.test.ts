import { aliceStore, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import {
  type Backend,
  type LeafReference,
  type PutJournal,
  StorageError,
  type Store,
} from "../../../src/index.ts";
import { attesting } from "../../backend/attesting.ts";
import { memory } from "../../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

/** A journal in memory that records the calls it receives. */
function memoryJournal(entries = new Map<number, LeafReference>()) {
  const asked: number[] = [];
  const told: number[] = [];
  const journal: PutJournal = {
    async known(index) {
      asked.push(index);
      return entries.get(index);
    },
    async stored(index, leaf) {
      told.push(index);
      entries.set(index, leaf);
    },
  };
  return { journal, entries, asked, told };
}

/** A backend that counts puts, and fails all after a given number. */
function counted(inner: Backend = memory()) {
  const calls = { put: [] as string[], head: [] as string[] };
  let left = Number.POSITIVE_INFINITY;
  const backend: Backend = {
    ...inner,
    async put(name, ...rest) {
      if (left-- <= 0) throw new StorageError("unavailable", "the line is cut");
      calls.put.push(name);
      return inner.put(name, ...rest);
    },
    async head(name, ...rest) {
      calls.head.push(name);
      return inner.head(name, ...rest);
    },
  };
  const failAfter = (puts: number) => (left = puts);
  const forget = () => {
    for (const names of Object.values(calls)) names.length = 0;
    left = Number.POSITIVE_INFINITY;
  };
  return { backend, calls, failAfter, forget };
}

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += length) yield bytes.slice(i, i + length);
}

async function contentOf(store: Store, address: string): Promise<string> {
  await store.verify(address, { deep: true });
  return sha256(await (await store.get(address)).bytes());
}

describe("a put with a journal", () => {
  const content = random(6 * MiB + 77);

  /** A put that was interrupted after the given number of blobs. */
  async function interrupted(puts: number, inner?: Backend) {
    const counts = counted(inner);
    const noted = memoryJournal();
    const store = aliceStore({ backend: counts.backend, chunkSize: CHUNK });
    counts.failAfter(puts);
    expect(await outcome(store.put(content, { journal: noted.journal }))).toBe("unavailable");
    expect(noted.entries.size).toBe(puts);
    counts.forget();
    noted.told.length = 0;
    return { ...counts, ...noted, store };
  }

  test.each(["bytes", "a stream"])(
    "given as %s sends only the leaves that are missing",
    async (kind) => {
      const { store, calls, journal, entries, told } = await interrupted(10);
      const before = new Map(entries);
      const given = kind === "bytes" ? content : inPieces(content, 99_999);
      const address = await store.put(given, { journal });
      expect(calls.head.toSorted()).toEqual(
        [...before.values()].map((it) => it.address).toSorted(),
      );
      // 25 leaves of content, filled up with padding, and the root.
      expect(calls.put.length).toBe(25 + 1 - 10);
      expect(told.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 25 }, (_, index) => index).filter((index) => !before.has(index)),
      );
      expect(await contentOf(store, address)).toBe(sha256(content));
    },
  );

  test("records all leaves, including those of padding alone", async () => {
    const noted = memoryJournal();
    const { backend, calls, forget } = counted();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const long = random(17 * MiB + 1);
    await store.put(long, { journal: noted.journal });
    const leaves = calls.put.length - 1;
    expect(leaves).toBeGreaterThan(Math.ceil(long.length / CHUNK));
    forget();
    const address = await store.put(long, { journal: noted.journal });
    expect(calls.put).toEqual([address]);
    expect(calls.head.length).toBe(leaves);
    expect(await contentOf(store, address)).toBe(sha256(long));
  });

  test("resends leaves that the store has lost or has in another size", async () => {
    const { store, backend, calls, journal, entries } = await interrupted(10);
    const [lost, cut] = [...entries.values()].map(({ address }) => address);
    await backend.delete(lost!);
    await backend.put(cut!, new Uint8Array(10));
    calls.put.length = 0;
    const address = await store.put(content, { journal });
    expect(calls.put).toContain(lost!);
    expect(calls.put).toContain(cut!);
    expect(calls.put.length).toBe(25 + 1 - 10 + 2);
    expect(await contentOf(store, address)).toBe(sha256(content));
  });

  test("resends leaves for which the server reports another checksum", async () => {
    const { store, backend, calls, journal, entries } = await interrupted(10, attesting());
    const [{ address: replaced }] = [...entries.values()] as [LeafReference];
    await backend.put(replaced, random(CHUNK + 59));
    calls.put.length = 0;
    const address = await store.put(content, { journal });
    expect(calls.put).toContain(replaced);
    expect(calls.put.length).toBe(25 + 1 - 10 + 1);
    expect(await contentOf(store, address)).toBe(sha256(content));
  });

  test.each(["bytes", "a stream"])(
    "given as %s that has changed seals what is new under fresh keys",
    async (kind) => {
      const { store, calls, journal, entries } = await interrupted(10);
      const before = [...entries.values()];
      const changed = content.slice();
      changed[0]! ^= 1;
      changed[3 * CHUNK + 5]! ^= 1;
      const given = kind === "bytes" ? changed : inPieces(changed, 10_000);
      const address = await store.put(given, { journal });
      expect(calls.put.length).toBe(25 + 1 - 10 + 2);
      expect(await contentOf(store, address)).toBe(sha256(changed));
      for (const name of calls.put) expect(before.map((it) => it.address)).not.toContain(name);
      const keys = [...before, ...entries.values()].map(({ contentKey }) =>
        Buffer.from(contentKey).toString("hex"),
      );
      // Eight leaves are unchanged and so occur twice; no other key sealed two leaves.
      expect(new Set(keys).size).toBe(25 + 2);
    },
  );

  test("is not harmed by a journal with wrong entries of every kind", async () => {
    const { store, calls, entries } = await interrupted(10);
    const swapped = new Map([...entries].map(([index, leaf]) => [(index + 1) % 25, leaf] as const));
    const forged = new Map(
      Array.from({ length: 30 }, (_, index) => [
        index,
        { address: sha256(random(8)), contentKey: random(32) },
      ]),
    );
    for (const wrong of [swapped, forged]) {
      calls.put.length = 0;
      const { journal } = memoryJournal(wrong);
      const address = await store.put(content, { journal });
      expect(calls.put.length).toBe(25 + 1);
      expect(await contentOf(store, address)).toBe(sha256(content));
    }
  });

  test("sends everything if HEAD requests are refused", async () => {
    const { backend, calls, journal } = await interrupted(10);
    const blind: Backend = {
      ...backend,
      head: async () => {
        throw new StorageError("permission", "only puts are allowed here");
      },
    };
    await aliceStore({ backend: blind, chunkSize: CHUNK }).put(content, { journal });
    expect(calls.put.length).toBe(25 + 1);
  });

  test("writes a correct tree even if the journal modifies its entries", async () => {
    const { store, journal } = await interrupted(10);
    const vandal: PutJournal = {
      known: async (index) => journal.known(index),
      async stored(_, { contentKey }) {
        contentKey.fill(0);
      },
    };
    const address = await store.put(content, { journal: vandal });
    expect(await contentOf(store, address)).toBe(sha256(content));
  });

  test("fails if recording fails, and rejects an invalid journal", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const reason = new Error("the journal is full");
    const full: PutJournal = {
      known: async () => undefined,
      stored: async () => {
        throw reason;
      },
    };
    expect(await outcome(store.put(content, { journal: full }))).toEqual(reason);
    const wrong: unknown[] = [
      {},
      5,
      { known: async () => ({ address: "", contentKey: "no" }), stored() {} },
    ];
    for (const journal of wrong) {
      expect(await outcome(store.put(content, { journal: journal as PutJournal }))).toBe("usage");
    }
  });

  describe("and a dedup secret", () => {
    const secret = random(32);

    /** The same, with the secret. */
    async function interruptedConvergent(inner?: Backend) {
      const counts = counted(inner);
      const noted = memoryJournal();
      const store = aliceStore({ backend: counts.backend, chunkSize: CHUNK, dedupSecret: secret });
      counts.failAfter(10);
      expect(await outcome(store.put(content, { journal: noted.journal }))).toBe("unavailable");
      expect(noted.entries.size).toBe(10);
      counts.forget();
      return { ...counts, ...noted, store };
    }

    test.each<[string, Backend | undefined]>([
      ["nothing", undefined],
      ["what it has", attesting()],
    ])("sends only missing leaves if the server verifies %s", async (_, inner) => {
      const { store, calls, journal, entries } = await interruptedConvergent(inner);
      const before = [...entries.values()].map((it) => it.address);
      const address = await store.put(content, { journal });
      expect(calls.put.length).toBe(25 + 1 - 10);
      for (const name of before) expect(calls.put).not.toContain(name);
      expect(await contentOf(store, address)).toBe(sha256(content));
      // The same bytes as a put without a journal writes.
      const whole = aliceStore({ chunkSize: CHUNK, dedupSecret: secret });
      expect(await whole.put(content)).toBe(address);
    });

    test("resends leaves that are lost, have another size, or another checksum", async () => {
      const { store, backend, calls, journal, entries } = await interruptedConvergent(attesting());
      const [lost, cut, replaced] = [...entries.values()].map(({ address }) => address);
      await backend.delete(lost!);
      await backend.put(cut!, new Uint8Array(10));
      await backend.put(replaced!, random(CHUNK + 59));
      calls.put.length = 0;
      const address = await store.put(content, { journal });
      for (const name of [lost!, cut!, replaced!]) expect(calls.put).toContain(name);
      expect(calls.put.length).toBe(25 + 1 - 10 + 3);
      expect(await contentOf(store, address)).toBe(sha256(content));
    });

    test("ignores entries made with another secret or by another run, and forged ones", async () => {
      const { store, backend, calls, entries } = await interruptedConvergent();
      const before = [...entries.values()].map(({ address }) => address);
      const forged = new Map(
        [...entries].map(([index, { address }]) => [index, { address, contentKey: random(32) }]),
      );
      const swapped = new Map([...entries].map(([index, leaf]) => [(index + 1) % 25, leaf]));
      for (const wrong of [forged, swapped]) {
        calls.put.length = 0;
        const address = await store.put(content, { journal: memoryJournal(wrong).journal });
        expect(calls.put.length).toBe(25 + 1);
        expect(await contentOf(store, address)).toBe(sha256(content));
      }
      const other = aliceStore({ backend, chunkSize: CHUNK, dedupSecret: random(32) });
      calls.put.length = 0;
      const address = await other.put(content, { journal: memoryJournal(entries).journal });
      expect(calls.put.length).toBe(25 + 1);
      for (const name of before) expect(calls.put).not.toContain(name);
      expect(await contentOf(other, address)).toBe(sha256(content));
    });
  });
});
