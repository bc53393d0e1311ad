import { describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { type Retry, withRetry } from "../../../src/backend/retry.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { memory } from "../../../src/backend/memory.ts";
import { fetchBlob } from "../../../src/blobs/fetch.ts";
import { addressOf } from "../../../src/crypto/address.ts";
import { rejects } from "../rejects.ts";
import { NAME, served } from "./fixtures.ts";

const MiB = 2 ** 20;
const BLOB = new Uint8Array(4 * MiB).fill(7);

/** The default retries, with the time they took and what was retried. */
async function withDefaultRetries<T>(backend: Backend, call: (backend: Backend) => Promise<T>) {
  const retries: Retry[] = [];
  const start = performance.now();
  const retrying = withRetry(backend, { onRetry: (retry) => void retries.push(retry) });
  const result = await call(retrying).catch((error: unknown) => error);
  return { result, retries, ms: performance.now() - start };
}

const get = (backend: Backend) => backend.get(NAME, new Uint8Array(BLOB.length));
const refusal = () =>
  new Response("<Error><Code>SlowDownRead</Code><Message>words</Message></Error>", { status: 503 });
const head = () => new Response(null, { headers: { etag: '"e"', "content-length": "5" } });

/** A server that answers the gets in turn, and each HEAD like this. */
function answering(gets: readonly (() => Response)[], onHead: () => Response) {
  const counts = { GET: 0, HEAD: 0 };
  const server = served(({ method }) => {
    if (method === "HEAD") {
      counts.HEAD += 1;
      return onHead();
    }
    counts.GET += 1;
    return gets[Math.min(counts.GET, gets.length) - 1]!();
  });
  return Object.assign(server, { counts });
}

/**
 * A server that breaks off each response at this position of the blob, and its requests. With `onHang`,
 * the second response stays open there instead.
 */
async function breakingAt(position: (request: number) => number, onHang?: () => void) {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      if (!text.startsWith("GET ")) return;
      const [, first, last] = /\nrange: bytes=(\d+)-(\d+)/iu.exec(text) ?? [];
      const range = first === undefined ? "whole" : `${first}-${last}`;
      requests.push(range);
      const start = Number(first ?? 0);
      const end = Number(last ?? BLOB.length - 1) + 1;
      const status =
        range === "whole" ? "200 OK" : `206 OK\r\ncontent-range: bytes ${range}/${BLOB.length}`;
      socket.write(`HTTP/1.1 ${status}\r\ncontent-length: ${end - start}\r\n\r\n`);
      const sent = Math.max(start, Math.min(end, position(requests.length)));
      socket.write(BLOB.subarray(start, sent));
      if (sent === end) return;
      if (onHang !== undefined && requests.length === 2) onHang();
      // Bytes that have not been read when a connection ends may be lost.
      else setTimeout(() => socket.end(), 100);
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { backend, [Symbol.dispose]: stop } = served(() => new Response(), { endpoint });
  return {
    backend,
    requests,
    [Symbol.dispose]() {
      stop();
      server.close();
    },
  };
}

describe("damage that a server reports", () => {
  test("as being busy is an error after two downloads, with some time between", async () => {
    using server = answering([refusal], head);
    const { result, retries, ms } = await withDefaultRetries(server.backend, get);
    expect(result).toMatchObject({ code: "address", transient: true });
    expect((result as Error).message).toContain("the server has it and cannot return its bytes");
    expect(server.counts).toEqual({ GET: 2, HEAD: 2 });
    expect(retries.length).toBe(1);
    expect(ms).toBeGreaterThan(1900);
    expect(ms).toBeLessThan(15_000);
  });

  test("is no damage if the next download succeeds", async () => {
    using server = answering([refusal, () => new Response("bytes")], head);
    const { result } = await withDefaultRetries(server.backend, get);
    expect(result).toBe(5);
  });

  test("is no damage if the server does not even return the blob's headers", async () => {
    using server = answering([refusal], refusal);
    const error = await rejects(get(server.backend), "unavailable", "busy or cannot read");
    expect(error.transient).toBe(true);
  });

  test("by breaking off where it begins is an error after two downloads", async () => {
    using server = await breakingAt(() => MiB);
    const { result, ms } = await withDefaultRetries(server.backend, get);
    expect(result).toMatchObject({ code: "address", transient: true });
    const probe = `${MiB}-${MiB + 63}`;
    expect(server.requests).toEqual(["whole", probe, "whole", probe]);
    expect(ms).toBeGreaterThan(1900);
    expect(ms).toBeLessThan(15_000);
  });

  test("is no damage if the server returns what comes next", async () => {
    using server = await breakingAt((request) => (request === 1 ? MiB : BLOB.length));
    const { result, retries } = await withDefaultRetries(server.backend, get);
    expect(result).toBe(BLOB.length);
    expect(retries[0]?.error).toMatchObject({ code: "unavailable", transient: true });
  });
});

test.each([0, 100])("an abort after %p ms of the further request is no damage", async (delay) => {
  const controller = new AbortController();
  const stop = () => void setTimeout(() => controller.abort(), delay);
  using server = await breakingAt(() => MiB, stop);
  const { signal } = controller;
  const reading = server.backend.get(NAME, new Uint8Array(BLOB.length), { signal });
  await rejects(reading, "aborted");
  expect(server.requests).toHaveLength(2);
});

describe("a blob that arrives whole with wrong bytes", () => {
  const right = BLOB.subarray(0, 1000);
  const address = addressOf(right);

  /** A store over a network of which the first downloads return other bytes. */
  async function damaging(wrong: number) {
    const inner = memory();
    await inner.put(address, right);
    let downloads = 0;
    const backend: Backend = {
      ...inner,
      local: false,
      async get(name, buffer, options) {
        const length = await inner.get(name, buffer, options);
        if (downloads < wrong) buffer[500]! ^= 1;
        downloads += 1;
        return length;
      },
    };
    return { backend, downloads: () => downloads };
  }
  const fetched = (backend: Backend) => fetchBlob(backend, address, new Uint8Array(2000));

  test("twice is damaged, without waiting for the retries", async () => {
    const given = await damaging(Number.POSITIVE_INFINITY);
    const { result, ms } = await withDefaultRetries(given.backend, fetched);
    expect(result).toMatchObject({ code: "address", transient: false });
    expect(given.downloads()).toBe(2);
    expect(ms).toBeLessThan(1900);
  });

  test("once was damaged in transit, and is downloaded again", async () => {
    const given = await damaging(1);
    const { result } = await withDefaultRetries(given.backend, fetched);
    expect(result).toEqual(right);
    expect(given.downloads()).toBe(2);
  });
});
