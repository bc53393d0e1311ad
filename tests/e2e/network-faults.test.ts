import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type FaultProxy, type Toxic, faultProxy } from "../servers/toxiproxy.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openers, storeOver } from "./stores.ts";
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
import { needs } from "../servers/needs.ts";
import { type Store, withRetry } from "@idk/storage";

setDefaultTimeout(90_000);

/** Slow enough that a chunk is on its way when something happens to it after a quarter second. */
const slow = (stream: "upstream" | "downstream"): Toxic => ({
  type: "bandwidth",
  stream,
  attributes: { rate: 500 },
});

type Way = "get" | "put";

/** What happens, how it is made to happen, and what it has to stop: without that it did not. */
const FAULTS: readonly (readonly [string, readonly Toxic[], readonly Way[]])[] = [
  [
    "connections are reset at once",
    [{ type: "reset_peer", attributes: { timeout: 0 } }],
    ["get", "put"],
  ],
  [
    "connections are reset in the middle of answers",
    [slow("downstream"), { type: "reset_peer", attributes: { timeout: 250 } }],
    ["get"],
  ],
  [
    "connections are reset in the middle of uploads",
    [slow("upstream"), { type: "reset_peer", stream: "upstream", attributes: { timeout: 250 } }],
    ["put"],
  ],
  ["answers are cut short", [{ type: "limit_data", attributes: { bytes: 200_000 } }], ["get"]],
  [
    "uploads are cut short",
    [{ type: "limit_data", stream: "upstream", attributes: { bytes: 200_000 } }],
    ["put"],
  ],
  ["answers never come", [{ type: "timeout", attributes: { timeout: 0 } }], ["get", "put"]],
  [
    "uploads get stuck",
    [{ type: "timeout", stream: "upstream", attributes: { timeout: 0 } }],
    ["get", "put"],
  ],
];

/** Each call of the backend ends by itself within seconds; here are some one after another. */
const DEADLINE = 20_000;

needs("minio", "toxiproxy")("a network that misbehaves", () => {
  let bucket: Bucket;
  let proxy: FaultProxy | undefined;
  let address: string;
  const content = testContent(3 * MiB, 1);
  const other = testContent(3 * MiB, 2);

  // Small chunks: an upload is given more time the longer it is.
  const chunkSize = 256 * 1024;
  const backendAt = (endpoint: string, patience = 1500) =>
    openers.minio({ endpoint, bucket: bucket.name, keys: bucket.server, patience });
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
    test("a get gives all of it or says that the store cannot be used", async () => {
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

    test("a put succeeds or says that the store cannot be used", async () => {
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
      // Whatever has come to lie there is whole, and what was there is as it was.
      for await (const { address } of direct.list()) await direct.verify(address);
      expect(await read(direct, address)).toBe(content.sha256);
    });

    test("with retries, put and get outlast it", async () => {
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

  test("an answer that stops in its middle is given up", async () => {
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

  test("a listing through a cut connection fails", async () => {
    const { endpoint } = await broken([{ type: "limit_data", attributes: { bytes: 600 } }]);
    await using store = storeOver(backendAt(endpoint));
    const failure = await within(DEADLINE, "list", failureOf(Array.fromAsync(store.list())));
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
  });

  test("half a second of latency only makes it slower", async () => {
    const { endpoint } = await broken([
      { type: "latency", attributes: { latency: 500, jitter: 50 } },
    ]);
    await using store = storeOver(backendAt(endpoint, 10_000), { chunkSize });
    const put = await within(60_000, "put", store.put(other.stream()));
    expect(await within(60_000, "get", read(store, put))).toBe(other.sha256);
  });
});
