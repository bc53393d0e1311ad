import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStore, generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { httpProxy } from "../../../../tests/servers/http-proxy.ts";
import { type RunStore, openRunStore } from "../../src/command/run-store.ts";
import { suites } from "../../src/suites.ts";
import { runSuite } from "../../src/run-suite.ts";
import {
  type Passes,
  byHash,
  byLength,
  passesOf,
  passesOfMany,
  passesOfStore,
  randomContents,
  readAll,
  tasksOf,
} from "../../src/suites/object-store/passes.ts";
import { files } from "../../src/suites/object-store/transfer.ts";
import type { SuiteContext } from "../../src/suite.ts";

const contents = randomContents(5000, 5);

function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "nothing failed",
    (error: unknown) => String(error),
  );
}

async function storeOver(backend = memory()) {
  const alice = await generateIdentity();
  return createStore({ backend, recipients: [alice.recipient], identities: [alice] });
}

async function everyPass(folder: string): Promise<Record<string, Passes>> {
  return {
    files: passesOf(files(folder), 5000),
    store: passesOfStore(await storeOver()),
    many: passesOfMany(await storeOver()),
  };
}

test("each way to store and read returns every content", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-passes-"));
  try {
    for (const [who, passes] of Object.entries(await everyPass(folder))) {
      const { put, get } = tasksOf(passes, contents, { who, what: "small", inFlight: 2 });
      expect([put.name, get.name]).toEqual([`small: put, ${who}`, `small: get, ${who}`]);
      expect(get.bytesPerOperation).toBe(25_000);
      // A get stores the contents itself if it comes first.
      await get.prepare?.();
      await get.check?.(await get.run());
      await put.check?.(await put.run());
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("finds wrong bytes of the right length, and contents that are missing", async () => {
  const kept = new Map<string, Uint8Array>();
  let flip = 0;
  const passes = passesOf(
    {
      put: async (name, bytes) => void kept.set(name, bytes.slice()),
      async get(name, buffer) {
        const bytes = kept.get(name)!;
        buffer.set(bytes);
        buffer[100]! ^= flip;
        return bytes.length;
      },
    },
    5000,
  );
  const keys = await passes.put(contents, 2);
  await readAll(passes, keys, contents, 2, byHash);
  flip = 1;
  await readAll(passes, keys, contents, 2, byLength);
  expect(await failureOf(readAll(passes, keys, contents, 2, byHash))).toContain("wrong bytes");
  expect(await failureOf(readAll(passes, keys.slice(1), contents, 2, byLength))).toContain(
    "4 of 5",
  );
});

test("a failed item of many ends the pass", async () => {
  const failing = wrapBackend(memory(), {
    put: () => () => Promise.reject(new Error("the disk is full")),
  });
  const passes = passesOfMany(await storeOver(failing));
  expect(await failureOf(passes.put(contents, 2))).toContain("the disk is full");
});

test("without versitygw, stores is skipped by name in CI only", () => {
  const missing = suites.find(({ name }) => name === "stores")!.missing!;
  expect(missing({ CI: "1" })).toContain("IDK_TEST_VERSITYGW not set");
  expect(missing({ CI: "1", IDK_TEST_VERSITYGW: "http://localhost" })).toBeUndefined();
  expect(missing({})).toBeUndefined();
});

const given = process.env["IDK_TEST_MINIO"];
if (given) describe("suites over an object store", () => overObjectStore(new URL(given)));
else if (process.env["CI"]) throw new Error("IDK_TEST_MINIO is not set: script/minio starts one");
else test.skip("suites over stores: no MinIO (script/minio run COMMAND… starts one)", () => {});

function overObjectStore(url: URL): void {
  const server = {
    endpoint: url.origin,
    region: "us-east-1",
    accessKeyId: decodeURIComponent(url.username),
    secretAccessKey: decodeURIComponent(url.password),
  };
  let store: RunStore;
  beforeAll(async () => {
    store = await openRunStore({ kind: "server", server });
  });
  afterAll(() => store.close());
  const run = async (name: string, context: Partial<SuiteContext>) => {
    const suite = suites.find((each) => each.name === name)!;
    const given = { quick: true, iterations: 1, env: {}, store: store.access, ...context };
    const result = await runSuite(suite, given);
    if (result.status !== "completed") throw new Error(result.reason);
    return {
      result,
      measured: result.measurements.map((measurement) => measurement.name),
      targets: result.targets.map((target) => target.name),
    };
  };

  test("streaming-throughput keeps the objects of one round at a time", async () => {
    const stored = new Set<string>();
    let most = 0;
    using proxy = httpProxy(url.origin, {
      respond({ method, url: { pathname } }) {
        if (method === "DELETE") stored.delete(pathname);
        if (method === "PUT") most = Math.max(most, stored.add(pathname).size);
        return undefined;
      },
    });
    const { result } = await run("streaming-throughput", {
      sizes: [1e6],
      iterations: 2,
      options: { partSize: "300KB", concurrency: "2" },
      store: { ...store.access, endpoint: proxy.endpoint },
    });
    const rounds = result.measurements[0]!.samples.length;
    expect(rounds).toBeGreaterThanOrEqual(2);
    // Those of one round, and of the chunks in flight before the first: all six rounds have 100.
    expect(most).toBeWithin(10, 30);
  });

  test("streaming-throughput measures streams of each part size, beside bare requests", async () => {
    const options = { partSize: "300KB,1MiB", concurrency: "2" };
    const { result, measured, targets } = await run("streaming-throughput", {
      sizes: [1e6, 2e6],
      options,
    });
    expect(measured).toHaveLength(16);
    expect(measured.slice(0, 4)).toEqual([
      "up 1 MB, 256 KiB x 2",
      "down 1 MB, 256 KiB x 2",
      "bare up 1 MB, 256 KiB x 2",
      "bare down 1 MB, 256 KiB x 2",
    ]);
    const settings = ["256 KiB x 2", "1 MiB x 2"];
    const rates = settings.flatMap((setting) =>
      ["1 MB", "2 MB"].flatMap((size) =>
        ["up", "down"].map((way) => `${way} ${size}, ${setting}: rate to that of bare requests`),
      ),
    );
    const inFlight = ["put of a stream", "get as a stream"].map(
      (what) => `${what}: chunks in flight at once`,
    );
    expect(targets).toEqual([...inFlight, ...rates]);
    expect(result.targets[0]).toMatchObject({ value: 4, verdict: "met" });
    expect(result.targets[1]).toMatchObject({ value: 4, verdict: "met" });
    // Too few samples to be met.
    for (const { verdict } of result.targets.slice(2)) expect(verdict).not.toBe("met");
    const { memory = [], heap = 0, peakRss = 0 } = result.measurements[0]!;
    expect(memory.length).toBeGreaterThan(1);
    expect(peakRss).toBeGreaterThan(heap);
    expect(result.notes[0]).toMatch(
      /^256 KiB x 2: 1 MB, 2 MB together up in .* times as long as down$/u,
    );
  });

  test("streaming-throughput rejects settings that no store has", async () => {
    const streams = (options: SuiteContext["options"]) => run("streaming-throughput", { options });
    expect(await failureOf(streams({ concurrency: "0" }))).toContain("1 to 64");
    expect(await failureOf(streams({ partSize: "none" }))).toContain("--partSize must list sizes");
  });

  test("sse-overhead measures one pair, which has no interval", async () => {
    const { result, measured } = await run("sse-overhead", { sizes: [1000] });
    expect(measured).toHaveLength(4);
    expect(result.pairs).toEqual([]);
  });

  test("many-small measures folders, the object store and bare requests", async () => {
    const { measured, targets } = await run("many-small", { options: { count: 20 } });
    expect(measured).toContain("put, folder, full");
    expect(measured).toContain("get, bare requests");
    expect(measured).toContain("head, bare requests");
    expect(measured.slice(-4)).toEqual(
      ["put", "get", "ls --long", "verify --server-checksums"].map((way) => `${way}, command`),
    );
    expect(measured).toHaveLength(13);
    expect(targets).toHaveLength(8);
  }, 120_000);

  test("transfer measures the backend beside the AWS SDK and bare requests", async () => {
    const { measured, targets } = await run("transfer", {});
    expect(measured).toContain("1 MiB, one at a time: get, AWS SDK");
    expect(measured).toContain("4 MiB, 4 in flight: put, bare requests");
    expect(targets).toHaveLength(12);
  });

  test("recorder-store measures an archive in an object store beside one in a folder", async () => {
    const { measured, targets } = await run("recorder-store", {});
    expect(measured).toContain("simple, active");
    expect(measured).toContain("medium, store: 99.9th percentile");
    expect(targets).toContain("simple, to a store: CPU of the recorder for each request");
  }, 120_000);

  test("stores has its second server as far away as the first", async () => {
    const env = { IDK_TEST_VERSITYGW: given };
    const far = run("stores", { sizes: [65_536], env, rtt: 1 });
    if (process.env["IDK_TEST_TOXIPROXY"]) {
      expect((await far).result.notes.join()).toContain("Both servers are as far away");
    } else expect(await failureOf(far)).toContain("--rtt needs the fault proxy");
  });

  test("stores measures an object store, a folder, and versitygw if it runs", async () => {
    const { IDK_TEST_VERSITYGW } = process.env;
    for (const second of [undefined, ...(IDK_TEST_VERSITYGW ? [IDK_TEST_VERSITYGW] : [])]) {
      const { result, targets } = await run("stores", {
        sizes: [65_536],
        env: { IDK_TEST_VERSITYGW: second },
      });
      expect(targets).toHaveLength(second === undefined ? 4 : 6);
      expect(result.notes.some((note) => note.includes("script/versitygw"))).toBe(!second);
    }
  });
}
