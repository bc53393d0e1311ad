import { type Backend, type NaCl, loadNaCl } from "../../src/index.ts";
import {
  alice,
  aliceStore,
  bob,
  codeOf,
  drain,
  nacl,
  outcome,
  random,
  sha256,
} from "../support.ts";
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { memory } from "../../src/backend/memory.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const CHUNK = 256 * KiB;

/** Every body and slot key of this file's writers, with the plaintext and nonce it was used for. */
const sealed = new Map<string, string>();
let seals = 0;

/** Fails at once if a key and nonce seal a second plaintext, which would reveal both. */
function watched(inner: NaCl): NaCl {
  return {
    ...inner,
    seal(box, message, nonce, key) {
      const plaintext = sha256(message);
      const used = `${Buffer.from(key).toString("hex")} ${Buffer.from(nonce).toString("hex")}`;
      const before = sealed.get(used);
      if (before !== undefined && before !== plaintext)
        throw new Error("a key sealed two plaintexts");
      sealed.set(used, plaintext);
      seals += 1;
      inner.seal(box, message, nonce, key);
    },
  };
}

const watching = watched(await loadNaCl(nacl));

async function blobsOf(backend: Backend): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  for await (const { name, size } of backend.list("")) {
    const bytes = new Uint8Array(size);
    await backend.get(name, bytes);
    blobs.set(name, bytes);
  }
  return blobs;
}

describe("for any content", () => {
  const content = fc.record({
    size: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 2000 }) },
      { weight: 1, arbitrary: fc.integer({ min: MiB - 2, max: MiB + 2 }) },
      { weight: 2, arbitrary: fc.integer({ min: MiB, max: 7 * CHUNK }) },
      { weight: 1, arbitrary: fc.constantFrom(5 * CHUNK - 1, 5 * CHUNK, 5 * CHUNK + 1) },
    ),
    seed: fc.integer({ min: 0, max: 3 }),
    padding: fc.constantFrom("padme" as const, "none" as const),
    convergent: fc.boolean(),
    concurrency: fc.integer({ min: 1, max: 8 }),
  });
  const dedupSecret = random(32);
  const bytesOf = (size: number, seed: number) =>
    Uint8Array.from({ length: size }, (_, i) => (i * (2 * seed + 1)) >> (seed * 3));

  test("round-trips, reads every range, and seals no two plaintexts with one key", async () => {
    const property = fc.asyncProperty(
      content,
      fc.array(
        fc.tuple(
          fc.double({ min: 0, max: 1, noNaN: true }),
          fc.double({ min: 0, max: 1, noNaN: true }),
        ),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      async ({ size, seed, padding, convergent, concurrency }, ranges) => {
        const bytes = bytesOf(size, seed);
        const store = aliceStore({
          chunkSize: CHUNK,
          padding,
          concurrency,
          dedupSecret: convergent ? dedupSecret : undefined,
          nacl: watching,
        });
        const address = await store.put(bytes);
        if (convergent) expect(await store.put(bytes)).toBe(address);
        const whole = await (await store.get(address)).bytes();
        expect(Buffer.compare(whole, bytes)).toBe(0);
        for (const [a, b] of ranges) {
          const [start, end] = [Math.round(a * size), Math.round(b * size)].toSorted(
            (x, y) => x - y,
          ) as [number, number];
          const part = await store.get(address, { range: { start, end } });
          expect(Buffer.compare(await part.bytes(), bytes.subarray(start, end))).toBe(0);
          const streamed = await drain(part.stream());
          expect(streamed.error).toBeUndefined();
          expect(Buffer.compare(streamed.bytes, bytes.subarray(start, end))).toBe(0);
        }
      },
    );
    await fc.assert(property, { numRuns: nacl === "portable" ? 15 : 60 });
  });

  test("rejects ranges outside the content", async () => {
    const store = aliceStore();
    const address = await store.put("0123456789");
    for (const range of [
      { start: -1 },
      { start: 0.5 },
      { start: 5, end: 4 },
      { end: 11 },
      { start: 11 },
      { start: Number.NaN },
    ]) {
      expect(await outcome(store.get(address, { range }))).toBe("usage");
    }
    expect(await (await store.get(address, { range: { start: 10 } })).text()).toBe("");
    const last = await store.get(address, { range: (size) => ({ start: size - 3 }) });
    expect(await last.text()).toBe("789");
    expect(await (await store.get(address, { range: { end: 3 } })).text()).toBe("012");
  });
});

describe("for any damage", () => {
  /** A tree with padding and a root for two, and a small inline blob. */
  async function storedPair() {
    const backend = memory();
    const store = aliceStore({
      backend,
      chunkSize: CHUNK,
      recipients: [alice.recipient, bob.recipient],
      nacl: watching,
    });
    const content = random(MiB + 5000);
    const roots = [
      await store.put(content, { metadata: { name: "tree" } }),
      await store.put("small"),
    ];
    return { backend, store, roots, blobs: await blobsOf(backend) };
  }

  const readAll = async (store: ReturnType<typeof aliceStore>, roots: readonly string[]) => {
    const errors: unknown[] = [];
    for (const root of roots) {
      try {
        const { error } = await drain((await store.get(root)).stream());
        if (error !== undefined) errors.push(error);
      } catch (error) {
        errors.push(error);
      }
    }
    return errors.map(codeOf);
  };

  test("detects a single flipped bit in any stored blob, with and without a key", async () => {
    const { backend, store, roots, blobs } = await storedPair();
    const names = [...blobs.keys()];
    const property = fc.asyncProperty(
      fc.nat({ max: names.length - 1 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.nat({ max: 7 }),
      async (which, where, bit) => {
        const name = names[which]!;
        const damaged = blobs.get(name)!.slice();
        damaged[Math.floor(where * damaged.length)]! ^= 1 << bit;
        await backend.put(name, damaged);
        expect(await readAll(store, roots)).toEqual(["address"]);
        expect(await outcome(store.verify(name))).toBe("address");
        await backend.put(name, blobs.get(name)!);
      },
    );
    await fc.assert(property, { numRuns: nacl === "portable" ? 25 : 100 });
    expect(await readAll(store, roots)).toEqual([]);
  });

  test("detects every flipped bit of a small root", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const root = await store.put("", { padding: "none" });
    const [bytes] = (await blobsOf(backend)).values();
    for (let bit = 0; bit < bytes!.length * 8; bit++) {
      const damaged = bytes!.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      await backend.put(root, damaged);
      expect(await outcome(store.get(root))).toBe("address");
    }
  });

  test("rejects a mutated blob under a matching name, and never crashes", async () => {
    const backend = memory();
    const store = aliceStore({ backend, recipients: [alice.recipient, bob.recipient] });
    await store.put("content", { metadata: { name: "n", bytes: Uint8Array.of(1, 2) } });
    const [root] = (await blobsOf(backend)).values();
    const mutation = fc.oneof(
      fc.record({ at: fc.nat({ max: root!.length - 1 }), byte: fc.nat({ max: 255 }) }),
      fc.record({ cut: fc.nat({ max: root!.length - 1 }) }),
      fc.record({ append: fc.uint8Array({ minLength: 1, maxLength: 40 }) }),
      fc.record({ insert: fc.nat({ max: root!.length - 1 }), byte: fc.nat({ max: 255 }) }),
    );
    const property = fc.asyncProperty(
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
      async (mutations) => {
        let bytes: Buffer = Buffer.from(root!);
        for (const m of mutations) {
          if ("at" in m && m.at < bytes.length) bytes[m.at] = m.byte;
          else if ("cut" in m) bytes = bytes.subarray(0, m.cut);
          else if ("append" in m) bytes = Buffer.concat([bytes, m.append]);
          else if ("insert" in m) {
            bytes = Buffer.concat([
              bytes.subarray(0, m.insert),
              Buffer.of(m.byte),
              bytes.subarray(m.insert),
            ]);
          }
        }
        fc.pre(!bytes.equals(root!));
        const address = sha256(bytes);
        await backend.put(address, bytes);
        const code = await outcome(store.get(address).then((blob) => blob.bytes()));
        expect(["format", "no-match", "commit", "auth"]).toContain(code as string);
        expect(["ok", "format"]).toContain((await outcome(store.verify(address))) as string);
        await backend.delete(address);
      },
    );
    await fc.assert(property, { numRuns: 500 });
  });
});

test("rejects random bytes as a blob", async () => {
  const backend = memory();
  const store = aliceStore({ backend });
  const property = fc.asyncProperty(
    fc.uint8Array({ maxLength: 300 }),
    fc.boolean(),
    async (bytes, withPrefix) => {
      const blob = withPrefix ? Buffer.concat([Buffer.from("IDK\x01", "latin1"), bytes]) : bytes;
      const address = sha256(blob);
      await backend.put(address, blob);
      expect(await outcome(store.get(address))).toBe("format");
      await backend.delete(address);
    },
  );
  await fc.assert(property, { numRuns: 1000 });
});

afterAll(() => {
  // Otherwise the check above would have seen no writers and proved nothing.
  expect(seals).toBeGreaterThan(30);
});
