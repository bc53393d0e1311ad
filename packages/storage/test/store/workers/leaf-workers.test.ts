import { afterAll, describe, expect, test } from "bun:test";
import { alice, aliceStore, nacl, outcome, random, sha256 } from "../../support.ts";
import pLimit from "p-limit";
import { CHILD_OVERHEAD } from "../../../src/format/limits.ts";
import { type ReadyWorkers, createLeafWorkers } from "../../../src/store/workers/pool.ts";
import { checkStoreOptions } from "../../../src/store/check-options.ts";
import type { StoreContext } from "../../../src/store/context.ts";
import { createBufferPool } from "../../../src/store/buffers.ts";
import { createFlows } from "../../../src/store/flow/flow.ts";
import { createMemoryBudget } from "../../../src/store/flow/budget.ts";
import { createStore } from "../../../src/index.ts";
import { get } from "../../../src/store/read/get.ts";
import { loadNaCl } from "../../../src/crypto/nacl/load-nacl.ts";
import { memory } from "../../../src/backend/memory.ts";
import { openChild } from "../../../src/crypto/seal.ts";
import { put } from "../../../src/store/write/put.ts";

const CHUNK = 2 ** 18;
/** Just enough for workers to be used, with a last leaf that is not full. */
const LARGE = 32 * 2 ** 20 + 1000;
const key = new Uint8Array(32).fill(7);

const workers = createLeafWorkers(nacl, 2);
afterAll(() => workers.close());

async function running(): Promise<ReadyWorkers> {
  for (;;) {
    const ready = await workers.ready();
    if (ready) return ready;
    await Bun.sleep(5);
  }
}

/** A leaf's plaintext at the offset where it will be sealed. */
function inBuffer(plaintext: Uint8Array): Uint8Array<ArrayBuffer> {
  const buffer = new Uint8Array(CHILD_OVERHEAD + CHUNK);
  buffer.set(plaintext, CHILD_OVERHEAD);
  return buffer;
}

describe("a worker", () => {
  test("is not awaited", async () => {
    const fresh = createLeafWorkers(nacl, 1);
    expect(await fresh.ready()).toBeUndefined();
    await fresh.close();
  });

  test("seals leaves that open here, and transfers the buffer without a copy", async () => {
    const { seal } = await running();
    const plaintext = random(1000);
    const buffer = inBuffer(plaintext);
    const sealing = seal({ buffer, length: 1000, dedupSecret: undefined, known: undefined });
    expect(buffer).toHaveLength(0);
    const sealed = await sealing;
    expect(sealed.buffer).toHaveLength(CHILD_OVERHEAD + CHUNK);
    expect(sealed.storedBefore).toBe(false);
    const blob = sealed.buffer.subarray(0, CHILD_OVERHEAD + 1000);
    expect(sha256(blob)).toBe(sealed.reference.address);
    const opened = openChild(await loadNaCl(nacl), "leaf", sealed.reference.contentKey, blob);
    expect(opened).toEqual(plaintext);
  });

  test("gives the same result with a dedup secret, and for a known leaf", async () => {
    const { seal } = await running();
    const plaintext = random(500);
    const job = { length: 500, dedupSecret: key, known: undefined };
    const one = await seal({ ...job, buffer: inBuffer(plaintext) });
    const two = await seal({ ...job, buffer: inBuffer(plaintext) });
    expect(two.reference).toEqual(one.reference);
    const known = { ...job, dedupSecret: undefined, known: one.reference };
    const again = await seal({ ...known, buffer: inBuffer(plaintext) });
    expect(again).toMatchObject({ reference: one.reference, storedBefore: true });
    const other = await seal({ ...known, buffer: inBuffer(random(500)) });
    expect(other.storedBefore).toBe(false);
    expect(other.reference.contentKey).not.toEqual(one.reference.contentKey);
  });

  test("opens intact leaves, and reports others", async () => {
    const { open, seal } = await running();
    const plaintext = random(CHUNK);
    const sealed = await seal({
      buffer: inBuffer(plaintext),
      length: CHUNK,
      dedupSecret: undefined,
      known: undefined,
    });
    const { reference } = sealed;
    const job = { length: sealed.buffer.length };

    const good = await open({ ...job, buffer: sealed.buffer.slice(), reference });
    expect(good.plaintext).toEqual({ start: CHILD_OVERHEAD, length: CHUNK });
    expect(good.buffer.subarray(CHILD_OVERHEAD)).toEqual(plaintext);

    const damaged = sealed.buffer.slice();
    damaged[500]! ^= 1;
    expect((await open({ ...job, buffer: damaged, reference })).plaintext).toBeUndefined();

    const wrongKey = { ...reference, contentKey: key };
    const refused = await open({ ...job, buffer: sealed.buffer.slice(), reference: wrongKey });
    expect(refused.plaintext).toMatchObject({ code: "commit" });

    const garbage = random(CHILD_OVERHEAD + CHUNK);
    const named = { address: sha256(garbage), contentKey: key } as typeof reference;
    expect((await open({ ...job, buffer: garbage, reference: named })).plaintext).toMatchObject({
      code: "format",
    });
  });
});

/** A store's context whose workers count their jobs. */
async function countedContext(dedupSecret?: Uint8Array) {
  await running();
  const counts = { seal: 0, open: 0 };
  const backend = memory();
  const context: StoreContext = {
    backend,
    naCl: await loadNaCl(nacl),
    workers: {
      ...workers,
      async ready() {
        const { seal, open } = await running();
        return {
          seal: (job) => ((counts.seal += 1), seal(job)),
          open: (job) => ((counts.open += 1), open(job)),
        };
      },
    },
    readBuffers: createBufferPool(() => 5),
    rootBuffers: createBufferPool(() => 5),
    blobBuffers: createBufferPool(() => 5),
    queueTree: pLimit(1),
    writeBuffers: createBufferPool(() => 5),
    flows: createFlows(backend, createMemoryBudget(Infinity)),
    deduplicates: () => dedupSecret !== undefined,
    defaults: checkStoreOptions({
      backend: memory(),
      recipients: [alice.recipient],
      identities: [alice],
      chunkSize: CHUNK,
      padding: "none",
      dedupSecret,
    }),
  };
  return { context, counts };
}

describe("large content", () => {
  const content = random(LARGE);
  const leaves = Math.ceil(LARGE / CHUNK);

  test("is sealed and opened by workers, leaf by leaf", async () => {
    const { context, counts } = await countedContext();
    const address = await put(context, content, {});
    expect(counts).toEqual({ seal: leaves, open: 0 });
    const blob = await get(context, address, {});
    expect(await blob.bytes()).toEqual(content);
    expect(counts).toEqual({ seal: leaves, open: leaves });
    const streamed = Buffer.concat(await Array.fromAsync(blob.stream()));
    expect(streamed.equals(content)).toBe(true);

    // Without workers it is the same.
    const plain = aliceStore({ backend: context.backend, workers: 0 });
    expect(await (await plain.get(address)).bytes()).toEqual(content);
  });

  test("of unknown length is passed to workers once enough has been read", async () => {
    const { context, counts } = await countedContext();
    async function* pieces() {
      for (let i = 0; i < content.length; i += 100_000) yield content.subarray(i, i + 100_000);
    }
    const address = await put(context, pieces(), {});
    expect(counts.seal).toBeGreaterThan(0);
    expect(counts.seal).toBeLessThan(leaves);
    expect(await (await get(context, address, {})).bytes()).toEqual(content);
  });

  test("has the same address as without workers, with a dedup secret", async () => {
    const { context, counts } = await countedContext(key);
    const here = aliceStore({ chunkSize: CHUNK, padding: "none", dedupSecret: key, workers: 0 });
    expect(await put(context, content, {})).toBe(await here.put(content));
    expect(counts.seal).toBe(leaves);
  });

  test("is opened in this thread if the range is too small for workers", async () => {
    const { context, counts } = await countedContext();
    const address = await put(context, content, {});
    const blob = await get(context, address, { range: { start: 5, end: 3 * CHUNK } });
    expect(await blob.bytes()).toEqual(content.slice(5, 3 * CHUNK));
    expect(counts.open).toBe(0);
  });

  test("yields the leaves before a fault, then the same error as without workers", async () => {
    const { context } = await countedContext();
    const names: string[] = [];
    const address = await put(context, content, {});
    const store = aliceStore({ backend: context.backend, workers: 0 });
    for await (const name of store.treeAddresses(address)) names.push(name);
    const damage = async (change: (bytes: Uint8Array) => Uint8Array) => {
      const buffer = new Uint8Array(CHILD_OVERHEAD + CHUNK);
      const length = await context.backend.get(names[40]!, buffer);
      await context.backend.put(names[40]!, change(buffer.subarray(0, length)));
    };
    await damage((bytes) => bytes.with(1000, bytes[1000]! ^ 1));
    let read = 0;
    const reading = async () => {
      for await (const piece of (await get(context, address, {})).stream()) read += piece.length;
    };
    expect(await outcome(reading())).toBe("address");
    expect(read).toBe(40 * CHUNK);

    await damage((bytes) => Buffer.concat([bytes, new Uint8Array(1)]));
    expect(await outcome(reading())).toBe(await outcome(store.verify(address, { deep: true })));
  });

  test("fails promptly when its signal fires", async () => {
    const { context } = await countedContext();
    const controller = new AbortController();
    const putting = () =>
      put(context, content, {
        signal: controller.signal,
        onProgress: ({ chunks }) => chunks === 20 && controller.abort(),
      });
    expect(await outcome(putting())).toBe("aborted");
  });
});

test.each([-1, 1.5, 65, Number.NaN])("rejects %p workers", (count) => {
  expect(() => aliceStore({ workers: count })).toThrow("workers must be an integer from 0 to 64");
});

test("close ends the threads, and open threads do not keep the process alive", async () => {
  const program = `
    import { createStore, generateIdentity } from "@idk/storage";
    import { memory } from "@idk/storage/memory";
    const alice = await generateIdentity();
    const store = createStore({ backend: memory(), recipients: [alice.recipient], identities: [alice], workers: 2 });
    const content = new Uint8Array(33 * 2 ** 20);
    for (let i = 0; i < 3; i++) {
      const address = await store.put(content);
      const bytes = await (await store.get(address)).bytes();
      if (bytes.length !== content.length) throw new Error("lost bytes");
    }
    if (process.argv[2] === "close") await store.close();
    console.log("done");
  `;
  for (const way of ["close", "leave"]) {
    const child = Bun.spawn(["bun", "-e", program, way], {
      cwd: import.meta.dir,
      stdout: "pipe",
      stderr: "pipe",
      timeout: 60_000,
    });
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    expect({ out, err, code }).toEqual({ out: "done\n", err: "", code: 0 });
  }
}, 120_000);

test("the caller's own NaCl stays in the calling thread", async () => {
  const own = { ...(await loadNaCl(nacl)) };
  let sealed = 0;
  const store = createStore({
    backend: memory(),
    recipients: [alice.recipient],
    nacl: { ...own, seal: (...call) => ((sealed += 1), own.seal(...call)) },
    chunkSize: CHUNK,
    workers: 2,
  });
  await store.put(random(LARGE));
  expect(sealed).toBeGreaterThan(LARGE / CHUNK);
});

test("threads start even if the backend never lets the event loop turn", async () => {
  const workers = createLeafWorkers(nacl, 1);
  // Nothing here waits for a timer or for I/O.
  let asked = 0;
  while ((await workers.ready()) === undefined) asked += 1;
  expect(asked).toBeGreaterThan(0);
  await workers.close();
});

describe("closing a store", () => {
  /** A slow backend that records when it was closed. */
  function slow() {
    const inner = memory();
    const state = { closed: false };
    const put: typeof inner.put = async (...call) => {
      await Bun.sleep(2);
      return inner.put(...call);
    };
    const close = async () => {
      state.closed = true;
    };
    return { backend: { ...inner, put, close }, state };
  }

  // The threads take longer to start than the first chunk, and run long before the last.
  test.each([1, 100])(
    "during a put, after %p chunks, fails the put with a code, and closes the backend",
    async (after) => {
      const { backend, state } = slow();
      const store = aliceStore({ backend, chunkSize: CHUNK, workers: 2 });
      let closing: Promise<void> | undefined;
      const putting = store.put(random(2 * LARGE), {
        onProgress: ({ chunks }) => {
          if (chunks === after) closing = store.close();
        },
      });
      expect(await outcome(putting)).toBe("aborted");
      await closing;
      expect(state.closed).toBe(true);
      await store.close();
    },
  );

  test("returns at once if threads were never needed or are starting", async () => {
    const fresh = createLeafWorkers(nacl, 2);
    await fresh.close();
    const starting = createLeafWorkers(nacl, 2);
    const asked = outcome(starting.ready());
    await starting.close();
    expect(await asked).toBe("aborted");
    expect(await outcome(starting.ready())).toBe("aborted");
    await starting.close();
  });
});

test("an error in a thread has a code, and the next job still runs", async () => {
  const fragile = createLeafWorkers(nacl, 1);
  const ready = async () => {
    for (;;) {
      const found = await fragile.ready();
      if (found) return found;
    }
  };
  const { seal } = await ready();
  const job = { length: 1000, dedupSecret: undefined, known: undefined };
  // This library never sends a buffer too short for its plaintext.
  const impossible = { ...job, buffer: new Uint8Array(10) };
  expect(await outcome(seal(impossible))).toBe("unavailable");
  const good = await seal({ ...job, buffer: inBuffer(random(1000)) });
  expect(good.reference.address).toBe(sha256(good.buffer.subarray(0, CHILD_OVERHEAD + 1000)));
  await fragile.close();
});

test("the calling thread does the work if threads cannot be created", async () => {
  const program = `
    const { createStore, generateIdentity } = await import("@idk/storage");
    const { memory } = await import("@idk/storage/memory");
    const alice = await generateIdentity();
    const store = createStore({ backend: memory(), recipients: [alice.recipient], identities: [alice], workers: 2 });
    const content = new Uint8Array(40 * 2 ** 20);
    const made = await import("#threads").then(() => "threads", () => "none");
    const bytes = await (await store.get(await store.put(content))).bytes();
    if (bytes.length !== content.length) throw new Error("lost bytes");
    await store.close();
    console.log("done with", made);
  `;
  // As in a browser, which has no thread pool.
  const child = Bun.spawn(["bun", "--conditions=browser", "-e", program], {
    cwd: import.meta.dir,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect({ out, err, code: await child.exited }).toEqual({
    out: "done with none\n",
    err: "",
    code: 0,
  });
}, 30_000);
