import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fork } from "node:child_process";
import { Readable } from "node:stream";
import { generateIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { openCatalog } from "../../../src/catalog/open-catalog.ts";
import { createObjects } from "../../../src/objects/create-objects.ts";

/*
 * A process with the objects of a gateway behind HTTP, over a folder. Its child has 64 clients that put
 * and 64 that get at once. Prints one line of JSON: its peak memory, and what the clients saw.
 *
 * Arguments: mebibytes of an object, clients of each kind, clients of each kind that stall.
 */

const [mebibytes, clients, stalling] = process.argv.slice(2, 5).map(Number) as [
  number,
  number,
  number,
];
const LENGTH = mebibytes * 2 ** 20;
const PIECE = new Uint8Array(64 * 1024).map((_, index) => index * 7);

function* content(): Generator<Uint8Array> {
  for (let at = 0; at < LENGTH; at += PIECE.length) yield PIECE.subarray(0, LENGTH - at);
}

if (process.argv[5] === undefined) await serve();
else await callAll(Number(process.argv[5]));

async function serve(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "idk-gateway-memory-"));
  const catalog = await openCatalog(join(folder, "catalog.sqlite"));
  const identity = await generateIdentity();
  const objects = await createObjects({
    catalog,
    recipients: [identity.recipient],
    identities: [identity],
    backend: filesystem(join(folder, "blobs"), { durability: "none" }),
    background: false,
  });
  const { bucket } = await objects.createBucket({ name: "b", owner: "", region: "", time: 0 });
  const keyOf = (url: string | undefined): Uint8Array => new TextEncoder().encode(url);
  const put = async (url: string | undefined, bytes: AsyncIterable<Uint8Array>): Promise<void> => {
    const digests = () => ({ md5: "0".repeat(32), checksums: {} });
    const body = { bytes, length: LENGTH, digests };
    await objects.putObject({ bucket, key: keyOf(url), headers: {}, body });
  };
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    yield* content();
  };
  await put("/source", pieces());

  const server = createServer((incoming, response) => {
    const answer = async (): Promise<void> => {
      if (incoming.method === "PUT") {
        await put(incoming.url, incoming);
        response.end();
        return;
      }
      const opened = await catalog.openObject(bucket.id, keyOf(incoming.url));
      await pipeline(Readable.from(objects.readObject(opened!)), response);
    };
    answer().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  let peak = 0;
  const idle = process.memoryUsage.rss();
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const began = performance.now();
  const child = fork(process.argv[1]!, [...process.argv.slice(2, 5), String(port)]);
  const seen = await new Promise((resolve) => child.once("message", resolve));
  clearInterval(timer);
  const seconds = (performance.now() - began) / 1000;
  const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
  console.log(
    JSON.stringify({ peakMiB: mib(peak), idleMiB: mib(idle), seconds, seen, ...objects.metrics() }),
  );
  child.kill();
  server.closeAllConnections();
  server.close();
  await objects.close();
  await catalog.close();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

/** Clients that stall keep their connection, and end with the process. */
async function callAll(port: number): Promise<void> {
  const expected = createHash("sha256");
  for (const piece of content()) expected.update(piece);
  const digest = expected.digest("hex");
  const options = { host: "127.0.0.1", port, agent: false } as const;

  const stall = (index: number): void => {
    const put = request({ ...options, method: "PUT", path: `/stalls-${index}` });
    put.on("error", () => {});
    for (let sent = 0; sent < 20; sent++) put.write(PIECE);
    const get = request({ ...options, path: "/source" });
    get.on("error", () => {});
    get.on("response", (response) => response.once("readable", () => response.read(1)));
    get.end();
  };
  const put = (index: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const call = request({ ...options, method: "PUT", path: `/put-${index}` });
      call.on("error", reject);
      call.on("response", (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      pipeline(Readable.from(content()), call).catch(reject);
    });
  const get = (path: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const call = request({ ...options, path });
      call.on("error", reject);
      call.on("response", (response) => {
        const hash = createHash("sha256");
        response.on("data", (piece: Uint8Array) => hash.update(piece));
        response.on("end", () => resolve(hash.digest("hex") === digest));
        response.on("error", reject);
      });
      call.end();
    });

  for (let index = 0; index < stalling; index++) stall(index);
  if (stalling > 0) await new Promise((resolve) => setTimeout(resolve, 500));
  const results = await Promise.all(
    Array.from({ length: clients }, (_, index) => [put(index), get("/source")]).flat(),
  );
  const again = clients > 0 ? await get("/put-0") : true;
  process.send!({ right: results.filter(Boolean).length, again });
}
