import { aliceStore, bob, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import {
  type Backend,
  type LeafReference,
  type Progress,
  type PutJournal,
  StorageError,
  createStore,
  withRetry,
} from "../../../src/index.ts";
import { attesting } from "../../backend/attesting.ts";
import { item } from "../many.ts";
import { memory } from "../../../src/backend/memory.ts";
import { wrapBackend } from "../../../src/backend/wrap.ts";

const CHUNK = 2 ** 18;

const busy = () => new StorageError("unavailable", "503", { transient: true });

/** A store 1 ms away that may refuse requests, and how many of each kind it got. */
function limited(inner: Backend) {
  const seen = { inFlight: 0, most: 0, heads: 0, refused: 0 };
  /** By default, none is refused. */
  const rules = { heads: Infinity, ranges: Infinity, putsLeft: 0 };
  const answer = async <T>(isRefused: boolean, call: () => Promise<T>): Promise<T> => {
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    try {
      await Bun.sleep(1);
      if (!isRefused) return await call();
      seen.refused += 1;
      throw busy();
    } finally {
      seen.inFlight -= 1;
    }
  };
  const backend = wrapBackend(inner, {
    put:
      (put) =>
      async (...given) =>
        answer(rules.putsLeft-- > 0, async () => put(...given)),
    head: (head) => async (name, given) => {
      seen.heads += 1;
      return answer(seen.inFlight >= rules.heads, async () => head(name, given));
    },
    getRange: (get) => async (name, offset, into, given) =>
      answer(seen.inFlight >= rules.ranges, async () => get(name, offset, into, given)),
  });
  const forget = () => Object.assign(seen, { most: 0, heads: 0, refused: 0 });
  const retrying = withRetry(backend, { firstDelayMs: 2, maxDelayMs: 4, budgetMs: 10_000 });
  return { backend: retrying, seen, rules, forget };
}

function journalInMemory(): PutJournal {
  const entries = new Map<number, LeafReference>();
  return {
    known: async (index) => entries.get(index),
    stored: async (index, leaf) => void entries.set(index, leaf),
  };
}

describe("a store that refuses what asks whether blobs are stored", () => {
  test.each(["heads", "ranges"] as const)("gets fewer items of a putMany: %s", async (refused) => {
    const { backend, seen, rules, forget } = limited(attesting());
    const store = aliceStore({ backend, dedupSecret: random(32) });
    const put = async (count: number): Promise<number> => {
      const results = store.putMany(Array.from({ length: count }, (_, i) => item(i)));
      let failed = 0;
      for await (const { ok } of results) if (!ok) failed += 1;
      return failed;
    };
    await put(300);
    rules[refused] = 8;
    expect(await put(100)).toBe(0);
    expect(seen.refused).toBeGreaterThan(0);
    forget();
    expect(await put(300)).toBe(0);
    expect(seen.most).toBeLessThan(24);
    expect(seen.refused).toBeLessThan(100);
  });

  test("gets fewer headers of a scan", async () => {
    const { backend, seen, rules } = limited(memory());
    const store = aliceStore({ backend });
    for (let i = 0; i < 60; i++) await store.put(random(70_000));
    const reader = createStore({ backend, identities: [bob], memory: 2 ** 30 });
    rules.ranges = 4;
    let most = 0;
    let scanned = 0;
    for await (const { kind } of reader.scan()) {
      expect(kind).toBe("closed");
      scanned += 1;
      if (scanned === 30) most = seen.most;
      if (scanned === 30) seen.most = 0;
    }
    expect(scanned).toBe(60);
    expect(most).toBeGreaterThan(8);
    expect(seen.most).toBeLessThanOrEqual(8);
  });
});

test("headers of a scan do not show how much memory the blobs take", async () => {
  const { backend, seen } = limited(memory());
  const store = aliceStore({ backend });
  for (let i = 0; i < 60; i++) await store.put(random(70_000));
  // Of 20 MiB for content, half is for roots, of 2 MiB each.
  const reader = createStore({ backend, identities: [bob], memory: 180 * 2 ** 20 });
  seen.most = 0;
  for await (const { kind } of reader.scan()) expect(kind).toBe("closed");
  expect(seen.most).toBeLessThanOrEqual(6);
});

test.each(["a dedup secret", "a journal"])(
  "chunks that are skipped with %s are as many as before once nothing is refused",
  async (how) => {
    const { backend, seen, rules, forget } = limited(how === "a journal" ? memory() : attesting());
    const store = aliceStore({
      backend,
      chunkSize: CHUNK,
      ...(how === "a dedup secret" && { dedupSecret: random(32) }),
    });
    const given = how === "a journal" ? { journal: journalInMemory() } : {};
    const content = random(30 * CHUNK);
    await store.put(content, given);
    // One chunk that is new, and refused four times: two are in flight then.
    content[0]! ^= 1;
    rules.putsLeft = 4;
    forget();
    const onProgress = ({ chunks }: Progress) => {
      if (chunks === 15) seen.most = 0;
    };
    await store.put(content, { ...given, onProgress });
    expect(seen.refused).toBe(4);
    expect(seen.heads).toBeGreaterThanOrEqual(29);
    expect(seen.most).toBeGreaterThanOrEqual(4);
  },
);
