import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import {
  type Backend,
  type ScanOptions,
  type ScannedBlob,
  generateIdentity,
  wrapBackend,
} from "../../../src/index.ts";
import { alice, aliceStore, bob, outcome, random } from "../../support.ts";
import { watched } from "../watched.ts";

const KIB = 2 ** 10;
const MIB = 2 ** 20;

async function surveyed(backend: Backend, options: ScanOptions = {}) {
  const found = new Map<string, ScannedBlob>();
  for await (const blob of aliceStore({ backend }).scan(options)) {
    expect(found.has(blob.address)).toBe(false);
    found.set(blob.address, blob);
  }
  return found;
}

function kinds(found: ReadonlyMap<string, ScannedBlob>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of found.values()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Counts the requests and the bytes they return. */
function metered(inner: Backend) {
  const sum = { gets: 0, fronts: 0, bytes: 0 };
  const backend: Backend = {
    ...inner,
    async get(...given) {
      sum.gets += 1;
      const length = await inner.get(...given);
      sum.bytes += length;
      return length;
    },
    async getRange(...given) {
      sum.fronts += 1;
      const length = await inner.getRange!(...given);
      sum.bytes += length;
      return length;
    },
  };
  return { backend, sum };
}

describe("scan", () => {
  test("distinguishes own roots, roots for others, and chunks", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const small = await store.put("small", { metadata: { name: "small.txt", mtime: 5 } });
    const large = await store.put(random(3 * MIB), { chunkSize: MIB, metadata: { name: "large" } });
    const inline = await store.put(random(MIB), { metadata: { name: "inline" } });
    const others = await store.put("theirs", { recipients: [bob.recipient] });
    const othersLarge = await store.put(random(MIB), { recipients: [bob.recipient] });
    const found = await surveyed(backend);
    expect(kinds(found)).toEqual({ opened: 3, closed: 2, child: 3 });
    expect(found.get(small)).toMatchObject({
      kind: "opened",
      stat: { size: 5, metadata: { name: "small.txt", mtime: 5 }, recipients: 1 },
    });
    expect(found.get(large)).toMatchObject({ stat: { size: 3 * MIB, chunks: 3 } });
    expect(found.get(inline)).toMatchObject({ stat: { size: MIB, metadata: { name: "inline" } } });
    expect(found.get(others)).toMatchObject({ kind: "closed", recipients: 1 });
    expect(found.get(othersLarge)).toMatchObject({ kind: "closed", recipients: 1 });
    for (const [address, { size }] of found) {
      expect(size).toBe((await backend.head(address))!.size);
    }
  });

  test("does not download chunks, or large roots for others, completely", async () => {
    const inner = memory();
    const store = aliceStore({ backend: inner });
    for (const chunkSize of [256 * KIB, MIB, 4 * MIB]) {
      await store.put(random(5 * MIB), { chunkSize });
    }
    await store.put(random(MIB), { recipients: [bob.recipient] });
    const { backend, sum } = metered(inner);
    expect(kinds(await surveyed(backend))).toEqual({ opened: 3, closed: 1, child: 27 });
    // The roots of trees are short; blobs too long for a root get no request at all.
    expect(sum.gets).toBe(3);
    expect(sum.fronts).toBe(27);
    expect(sum.bytes).toBeLessThan(27 * 4096 + 3 * 4 * KIB);
  });

  test("gives the same results on a backend without ranged reads", async () => {
    const { getRange: _, ...backend } = memory();
    const store = aliceStore({ backend });
    await store.put(random(2 * MIB), { chunkSize: 256 * KIB });
    await store.put(random(MIB), { recipients: [bob.recipient] });
    expect(kinds(await surveyed(backend))).toEqual({ opened: 1, closed: 1, child: 8 });
  });

  test("opens a root that is longer than it is listed", async () => {
    const backend = memory();
    const address = await aliceStore({ backend }).put(random(MIB));
    const found = await surveyed({
      ...backend,
      async *list(...given) {
        for await (const blob of backend.list(...given)) yield { ...blob, size: 100 };
      },
    });
    expect(found.get(address)).toMatchObject({ kind: "opened", stat: { size: MIB } });
  });

  test("opens a large root whose header is longer than the first read", async () => {
    const backend = memory();
    const many = await Promise.all(Array.from({ length: 100 }, () => generateIdentity()));
    const recipients = many.map(({ recipient }) => recipient);
    const store = aliceStore({ backend });
    await store.put(random(MIB), { recipients: [...recipients, alice.recipient] });
    await store.put(random(MIB), { recipients });
    const found = await surveyed(backend);
    expect(kinds(found)).toEqual({ opened: 1, closed: 1 });
    const closed = [...found.values()].find(({ kind }) => kind === "closed");
    expect(closed).toMatchObject({ recipients: 100 });
  });

  test("reports the error of one blob as its result, and continues", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const good = await store.put("good");
    const [short, long, gone] = ["a", "b", "c"].map((digit) => digit.repeat(64));
    await backend.put(short!, random(100));
    await backend.put(long!, random(100 * KIB));
    const found = await surveyed({
      ...backend,
      async *list(prefix, options) {
        yield* backend.list(prefix, options);
        yield { name: gone!, size: 100 };
      },
    });
    expect(kinds(found)).toEqual({ opened: 1, failed: 3 });
    expect(found.get(good)).toMatchObject({ kind: "opened" });
    for (const address of [short!, long!]) {
      expect(found.get(address)).toMatchObject({ error: { code: "address" } });
    }
    expect(found.get(gone!)).toMatchObject({ error: { code: "not-found" } });
  });

  test("respects the concurrency and the prefix", async () => {
    const inner = memory();
    const store = aliceStore({ backend: inner });
    const addresses = await Promise.all(Array.from({ length: 40 }, () => store.put("x")));
    const { backend, seen } = watched(inner);
    const found = await surveyed(backend, { concurrency: 3 });
    expect(found.size).toBe(40);
    expect(seen.most).toBe(3);
    const prefix = addresses[0]!.slice(0, 8);
    expect([...(await surveyed(backend, { prefix })).keys()]).toEqual([addresses[0]!]);
  });

  test("accepts identities, and ends when the signal fires", async () => {
    const store = aliceStore({ identities: undefined });
    expect(await outcome(Array.fromAsync(store.scan()))).toBe("usage");
    const signal = AbortSignal.abort();
    expect(await outcome(Array.fromAsync(aliceStore().scan({ signal })))).toBe("aborted");
    const options = { concurrency: 65 };
    expect(await outcome(Array.fromAsync(aliceStore().scan(options)))).toBe("usage");
  });
});

describe("a scan by default", () => {
  test.each([
    ["short blobs: more than at first", 100, 25, 64],
    ["blobs of 64 KiB, of which each may take 2 MiB of memory", 64 * KIB, 16, 16],
  ])("has this many in flight: %s", async (_, size, least, most) => {
    const near = memory();
    const contents = Array.from({ length: 160 }, (__, i) => ({ key: i, content: random(size) }));
    const stored = aliceStore({ backend: near }).putMany(contents);
    for await (const result of stored) expect(result.ok).toBe(true);
    const far = wrapBackend(near, {
      get:
        (get) =>
        async (...given) => {
          // Far longer than the processor takes for a blob.
          await Bun.sleep(100);
          return get(...given);
        },
    });
    const { backend, seen } = watched(far);
    expect((await Array.fromAsync(aliceStore({ backend }).scan())).map(({ kind }) => kind)).toEqual(
      Array.from({ length: 160 }, () => "opened"),
    );
    expect(seen.most).toBeWithin(least, most + 1);
  });
});
