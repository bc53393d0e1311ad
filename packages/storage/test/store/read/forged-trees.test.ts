import pLimit from "p-limit";
import { CHILD_BLOB_MAX, CHILD_OVERHEAD, REFERENCE_LENGTH } from "../../../src/format/limits.ts";
import { alice, codeOf, drain, encodedRoot, nacl, random, sha256 } from "../../support.ts";
import { type Backend, createStore, loadNaCl, publicKeyOf } from "../../../src/index.ts";
import { describe, expect, test } from "bun:test";
import { type OpenedRoot, readRoot } from "../../../src/store/read/read-root.ts";
import { randomKey } from "../../../src/crypto/key-schedule.ts";
import fc from "fast-check";
import { checkStoreOptions } from "../../../src/store/check-options.ts";
import { createBufferPool } from "../../../src/store/buffers.ts";
import { createFlows } from "../../../src/store/flow/flow.ts";
import { createMemoryBudget } from "../../../src/store/flow/budget.ts";
import { memory } from "../../../src/backend/memory.ts";
import { sealChild, sealRoot } from "../../../src/crypto/seal.ts";
import { wrapBackend } from "../../../src/backend/wrap.ts";
import { writeReference } from "../../../src/format/tree.ts";

/*
 * What an attacker can create who may write to the store and knows the public key: roots of any form
 * over chunks of any form, all under matching names.
 */

const MIB = 2 ** 20;
const CHUNK = 2 ** 18;

const naCl = await loadNaCl(nacl);
const backend = memory();
const store = createStore({
  backend,
  identities: [alice],
  recipients: [alice.recipient],
  chunkSize: CHUNK,
  padding: "none",
  nacl,
});
const content = random(5 * CHUNK + 100);
const leaves = Math.ceil(content.length / CHUNK);
const opened: OpenedRoot = await readRoot(
  {
    backend,
    naCl,
    workers: undefined,
    readBuffers: createBufferPool(() => 1),
    rootBuffers: createBufferPool(() => 1),
    blobBuffers: createBufferPool(() => 1),
    queueTree: pLimit(1),
    writeBuffers: createBufferPool(() => 1),
    flows: createFlows(backend, createMemoryBudget(Infinity)),
    deduplicates: () => false,
    defaults: checkStoreOptions({ backend, identities: [alice] }),
  },
  await store.put(content),
  {},
);

async function stored(bytes: Uint8Array): Promise<string> {
  const address = sha256(bytes);
  await backend.put(address, bytes);
  return address;
}

/** A root with the given fields replaced. */
async function forgedRoot(changed: Partial<Parameters<typeof encodedRoot>[0]>): Promise<string> {
  const plaintext = encodedRoot(
    {
      depth: 1,
      chunkLog2: 18,
      contentLength: content.length,
      padding: 0,
      metadata: new Map(),
      body: opened.body,
      ...changed,
    },
    false,
  );
  const keys = { contentKey: randomKey(), ephemeralSecret: randomKey() };
  return stored(sealRoot(naCl, keys, [publicKeyOf(alice.recipient)], plaintext));
}

/** The references with one leaf's replaced. */
function withLeaf(index: number, address: string, contentKey: Uint8Array): Uint8Array {
  const body = opened.body.slice();
  writeReference(body, index, { address, contentKey });
  return body;
}

const keyAt = (index: number) =>
  opened.body.slice(index * REFERENCE_LENGTH + 32, (index + 1) * REFERENCE_LENGTH);

async function blobOf(from: Backend, index: number): Promise<Uint8Array> {
  const name = Buffer.from(
    opened.body.slice(index * REFERENCE_LENGTH, index * REFERENCE_LENGTH + 32),
  ).toString("hex");
  const buffer = new Uint8Array(CHUNK + CHILD_OVERHEAD);
  return buffer.slice(0, await from.get(name, buffer));
}

async function read(address: string): Promise<{ code: unknown; released: Uint8Array }> {
  try {
    const { bytes, error } = await drain((await store.get(address)).stream());
    return { code: error === undefined ? "ok" : codeOf(error), released: bytes };
  } catch (error) {
    return { code: codeOf(error), released: new Uint8Array(0) };
  }
}

const runs = nacl === "portable" ? 25 : 100;

test("stops before a mutated leaf that has a matching name", async () => {
  const mutation = fc.record({
    index: fc.nat({ max: leaves - 1 }),
    where: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    kind: fc.constantFrom("change", "cut", "append", "header"),
    byte: fc.integer({ min: 1, max: 255 }),
  });
  const property = fc.asyncProperty(mutation, async ({ index, where, kind, byte }) => {
    let bytes = await blobOf(backend, index);
    const at = Math.floor(where * (kind === "header" ? CHILD_OVERHEAD : bytes.length));
    if (kind === "cut") bytes = bytes.slice(0, at);
    else if (kind === "append") bytes = Buffer.concat([bytes, Buffer.alloc(byte, byte)]);
    else bytes[at]! ^= byte;
    const address = await stored(bytes);
    const root = await forgedRoot({ body: withLeaf(index, address, keyAt(index)) });

    const { code, released } = await read(root);

    expect(["format", "commit", "auth"]).toContain(code as string);
    expect(Buffer.compare(released, content.subarray(0, index * CHUNK))).toBe(0);
    await backend.delete(address);
    await backend.delete(root);
  });
  await fc.assert(property, { numRuns: runs });
});

test("rejects a correctly sealed leaf of the wrong length", async () => {
  const property = fc.asyncProperty(
    fc.nat({ max: leaves - 1 }),
    fc.oneof(
      fc.nat({ max: 200 }),
      fc.integer({ min: CHUNK - 2, max: CHUNK + 2 }),
      fc.constant(MIB),
    ),
    async (index, length) => {
      const right = index === leaves - 1 ? content.length - index * CHUNK : CHUNK;
      fc.pre(length !== right);
      const contentKey = randomKey();
      const blob = new Uint8Array(CHILD_OVERHEAD + length);
      sealChild(naCl, "leaf", contentKey, new Uint8Array(length), blob);
      const address = await stored(blob);
      const { code, released } = await read(
        await forgedRoot({ body: withLeaf(index, address, contentKey) }),
      );
      expect(code).toBe("tree");
      expect(Buffer.compare(released, content.subarray(0, index * CHUNK))).toBe(0);
    },
  );
  await fc.assert(property, { numRuns: runs });
});

test("downloads leaves that are too long one at a time", async () => {
  const contentKey = randomKey();
  const blob = new Uint8Array(CHILD_OVERHEAD + MIB);
  sealChild(naCl, "leaf", contentKey, new Uint8Array(MIB), blob);
  const address = await stored(blob);
  const body = opened.body.slice();
  for (let leaf = 0; leaf < leaves; leaf++) {
    writeReference(body, leaf, { address, contentKey });
  }
  let large = 0;
  const slow = wrapBackend(backend, {
    get: (get) => async (name, buffer, options) => {
      const isLarge = buffer.length >= CHILD_BLOB_MAX;
      if (isLarge) large += 1;
      await Bun.sleep(5);
      try {
        expect(large).toBeLessThan(2);
        return await get(name, buffer, options);
      } finally {
        if (isLarge) large -= 1;
      }
    },
  });
  await using own = createStore({ backend: slow, identities: [alice], nacl });
  const { error } = await drain((await own.get(await forgedRoot({ body }))).stream());
  expect(codeOf(error)).toBe("tree");
});

test("gives up at once while other leaves that are too long are downloaded", async () => {
  const contentKey = randomKey();
  const blob = new Uint8Array(CHILD_OVERHEAD + MIB);
  sealChild(naCl, "leaf", contentKey, new Uint8Array(MIB), blob);
  const root = await forgedRoot({ body: withLeaf(0, await stored(blob), contentKey) });
  const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const stalled = wrapBackend(backend, {
    get: (get) => async (name, buffer, options) => {
      if (buffer.length >= CHILD_BLOB_MAX) {
        begun.resolve();
        await answer.promise;
      }
      return get(name, buffer, options);
    },
  });
  await using own = createStore({ backend: stalled, identities: [alice], nacl });
  const read = async (signal?: AbortSignal) =>
    drain((await own.get(root, { signal })).stream()).then(({ error }) => codeOf(error));
  const first = read();
  await begun.promise;
  const abort = new AbortController();
  const second = read(abort.signal);
  await Bun.sleep(20);
  abort.abort();
  expect(await second).toBe("aborted");
  answer.resolve();
  expect(await first).toBe("tree");
});

test("reads or rejects a root of any sizes at once, without allocating memory for its claims", async () => {
  const size = fc.oneof(
    fc.nat({ max: 2 ** 22 }),
    fc.maxSafeNat(),
    fc.constantFrom(0, MIB, MIB + 1, content.length, 2 ** 40, Number.MAX_SAFE_INTEGER),
  );
  const claim = fc.record({
    depth: fc.nat({ max: 5 }),
    chunkLog2: fc.oneof(fc.nat({ max: 30 }), fc.integer({ min: 18, max: 24 })),
    contentLength: size,
    padding: fc.oneof(fc.constant(0), size),
  });
  const before = process.memoryUsage.rss();
  const property = fc.asyncProperty(claim, async (changed) => {
    const { code } = await read(await forgedRoot(changed));
    expect(["root", "tree", "ok", "not-found", "commit", "auth"]).toContain(code as string);
    if (code === "ok") expect(changed.contentLength).toBe(content.length);
  });
  await fc.assert(property, { numRuns: 300 });
  expect(process.memoryUsage.rss() - before).toBeLessThan(256 * MIB);
});

describe("a tree of two levels", () => {
  /** 4097 leaves of zeros, of which 4096 are the same blob, as in convergent writing. */
  async function twoLevels() {
    const own = memory();
    const putChild = async (kind: "leaf" | "node", plaintext: Uint8Array) => {
      const contentKey = randomKey();
      const blob = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
      sealChild(naCl, kind, contentKey, plaintext, blob);
      const address = sha256(blob);
      await own.put(address, blob);
      return { address, contentKey };
    };
    const full = await putChild("leaf", new Uint8Array(CHUNK));
    const last = await putChild("leaf", new Uint8Array(1));
    const references = (count: number, leaf: typeof full) => {
      const bytes = new Uint8Array(count * REFERENCE_LENGTH);
      for (let i = 0; i < count; i++) writeReference(bytes, i, leaf);
      return bytes;
    };
    const nodes = [
      await putChild("node", references(4096, full)),
      await putChild("node", references(1, last)),
    ] as const;
    const body = new Uint8Array(2 * REFERENCE_LENGTH);
    for (const [i, node] of nodes.entries()) writeReference(body, i, node);
    const plaintext = encodedRoot(
      {
        depth: 2,
        chunkLog2: 18,
        contentLength: 4096 * CHUNK + 1,
        padding: 0,
        metadata: new Map(),
        body,
      },
      false,
    );
    const keys = { contentKey: randomKey(), ephemeralSecret: randomKey() };
    const root = sealRoot(naCl, keys, [publicKeyOf(alice.recipient)], plaintext);
    await own.put(sha256(root), root);
    return { backend: own, root: sha256(root), nodes, full, last };
  }

  const over = (from: Backend) => createStore({ backend: from, identities: [alice], nacl });

  test("reads ranges that cross its nodes", async () => {
    const { backend: own, root } = await twoLevels();
    const end = 4096 * CHUNK + 1;
    const blob = await over(own).get(root, { range: { start: end - 3, end } });
    expect(await blob.bytes()).toEqual(new Uint8Array(3));
    expect(await over(own).stat(root)).toMatchObject({ depth: 2, chunks: 4097, size: end });
  });

  test("is deleted completely, and a repeated blob once", async () => {
    const { backend: own, root } = await twoLevels();
    expect(await over(own).deleteTree(root)).toEqual({ blobs: 1 + 2 + 2, skipped: 0 });
    expect(await Array.fromAsync(own.list(""))).toEqual([]);
  });

  test("is not deleted if one of its nodes cannot be opened", async () => {
    const { backend: own, root, nodes } = await twoLevels();
    await own.delete(nodes[1].address);
    const before = (await Array.fromAsync(own.list(""))).length;
    expect(await over(own).deleteTree(root).catch(codeOf)).toBe("not-found");
    expect((await Array.fromAsync(own.list(""))).length).toBe(before);
  });
});
