import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type FaultProxy, type Toxic, faultProxy } from "../servers/toxiproxy.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openBackend, storeOver } from "./stores.ts";
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { requireServer } from "../servers/require-server.ts";
import { type Store, withRetry } from "@idk/storage";

setDefaultTimeout(90_000);

/** Slow enough that a chunk is still in transit after a quarter of a second. */
const slow = (stream: "upstream" | "downstream"): Toxic => ({
  type: "bandwidth",
  stream,
  attributes: { rate: 500 },
});

type Operation = "get" | "put";

/** Title, toxics, and the operations that must fail; otherwise the fault did not happen. */
const FAULTS: readonly (readonly [string, readonly Toxic[], readonly Operation[]])[] = [
  [
    "connections are reset at once",
    [{ type: "reset_peer", attributes: { timeout: 0 } }],
    ["get", "put"],
  ],
  [
    "connections are reset in the middle of responses",
    [slow("downstream"), { type: "reset_peer", attributes: { timeout: 250 } }],
    ["get"],
  ],
  [
    "connections are reset in the middle of uploads",
    [slow("upstream"), { type: "reset_peer", stream: "upstream", attributes: { timeout: 250 } }],
    ["put"],
  ],
  ["responses are truncated", [{ type: "limit_data", attributes: { bytes: 200_000 } }], ["get"]],
  [
    "uploads are truncated",
    [{ type: "limit_data", stream: "upstream", attributes: { bytes: 200_000 } }],
    ["put"],
  ],
  ["responses never arrive", [{ type: "timeout", attributes: { timeout: 0 } }], ["get", "put"]],
  [
    "uploads stall",
    [{ type: "timeout", stream: "upstream", attributes: { timeout: 0 } }],
    ["get", "put"],
  ],
];

/** Each backend call ends within seconds; an operation makes a few in sequence. */
const DEADLINE = 20_000;

requireServer("minio", "toxiproxy")("a faulty network", () => {
  let bucket: Bucket;
  let proxy: FaultProxy | undefined;
  let address: string;
  const content = testContent(3 * MiB, 1);
  const other = testContent(3 * MiB, 2);

  // Small chunks, because the timeout of an upload grows with its length.
  const chunkSize = 256 * 1024;
  const backendAt = (endpoint: string, timeoutMs = 1500) =>
    openBackend.minio({ endpoint, bucket: bucket.name, keys: bucket.server, timeoutMs });
  const healthy = () => storeOver(backendAt(bucket.server.endpoint, 30_000), { chunkSize });

  const broken = async (toxics: readonly Toxic[]) => {
    proxy = await faultProxy(bucket.server.endpoint, toxics);
    return proxy;
  };

  const read = async (store: Store, address: string): Promise<string> =>
    sha256Of((await store.get(address)).stream());

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    await using store = healthy();
    address = await store.put(content.stream());
  });

  afterEach(async () => {
    await proxy?.remove();
    proxy = undefined;
  });

  afterAll(() => bucket.remove());

  describe.each(FAULTS)("%s", (_, toxics, stopped) => {
    test("get returns all bytes or fails as unavailable", async () => {
      const { endpoint } = await broken(toxics);
      await using store = storeOver(backendAt(endpoint), { chunkSize });
      let sha256: string | undefined;
      const failure = await within(
        DEADLINE,
        "get",
        failureOf(read(store, address).then((it) => (sha256 = it))),
      );
      if (stopped.includes("get")) expect(failure).toBeDefined();
      if (failure === undefined) expect(sha256).toBe(content.sha256);
      else expect(failure).toMatchObject({ code: "unavailable", transient: true });
    });

    test("put succeeds or fails as unavailable", async () => {
      const { endpoint } = await broken(toxics);
      await using store = storeOver(backendAt(endpoint), { chunkSize });
      await using direct = healthy();
      let put: string | undefined;
      const failure = await within(
        DEADLINE,
        "put",
        failureOf(store.put(other.stream()).then((it) => (put = it))),
      );
      if (stopped.includes("put")) expect(failure).toBeDefined();
      if (failure === undefined) expect(await read(direct, put!)).toBe(other.sha256);
      else expect(failure).toMatchObject({ code: "unavailable", transient: true });
      // Every stored blob is whole, and the earlier content is unchanged.
      for await (const { address } of direct.list()) await direct.verify(address);
      expect(await read(direct, address)).toBe(content.sha256);
    });

    test("put and get succeed with retries once the network recovers", async () => {
      const bad = await broken(toxics);
      await using store = storeOver(withRetry(backendAt(bad.endpoint)), { chunkSize });
      const work = Promise.all([store.put(other.stream()), read(store, address)]);
      await Bun.sleep(800);
      await bad.heal();
      const [put, sha256] = await within(60_000, "put and get", work);
      expect(sha256).toBe(content.sha256);
      expect(await read(store, put)).toBe(other.sha256);
    });
  });

  test("a response that stalls times out", async () => {
    const minute = 60_000_000;
    const { endpoint } = await broken([
      { type: "slicer", attributes: { average_size: 100_000, size_variation: 0, delay: minute } },
    ]);
    await using store = storeOver(backendAt(endpoint));
    const started = performance.now();
    const failure = await within(DEADLINE, "get", failureOf(read(store, address)));
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
    expect(performance.now() - started).toBeGreaterThan(1400);
  });

  test("a truncated listing fails", async () => {
    const { endpoint } = await broken([{ type: "limit_data", attributes: { bytes: 600 } }]);
    await using store = storeOver(backendAt(endpoint));
    const failure = await within(DEADLINE, "list", failureOf(Array.fromAsync(store.list())));
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
  });

  test("half a second of latency only slows down put and get", async () => {
    const { endpoint } = await broken([
      { type: "latency", attributes: { latency: 500, jitter: 50 } },
    ]);
    await using store = storeOver(backendAt(endpoint, 10_000), { chunkSize });
    const put = await within(60_000, "put", store.put(other.stream()));
    expect(await within(60_000, "get", read(store, put))).toBe(other.sha256);
  });
});
