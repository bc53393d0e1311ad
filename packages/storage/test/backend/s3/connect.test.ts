import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type AddressInfo } from "node:net";
import { type BlackHole, blackHole } from "../../../../../tests/servers/black-hole.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { s3, type Timeouts } from "../../../src/backend/s3.ts";
import { rejects } from "../rejects.ts";
import { first, NAME } from "./fixtures.ts";

const BYTES = new Uint8Array(100);

function at(port: number, timeouts?: Timeouts): Backend {
  return s3({
    bucket: "bucket",
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "access-key", secretAccessKey: "secret-key" },
    timeouts,
  });
}

describe("an address that drops packets", () => {
  let hole: BlackHole;
  beforeAll(async () => {
    hole = await blackHole();
  }, 60_000);
  afterAll(() => hole.stop());

  test("fails every call after the connect timeout, with a transient error", async () => {
    // The firstByte timeout is longer than the test may take.
    const backend = at(hole.port, { connect: 200, firstByte: 600_000 });
    for (const call of [
      () => backend.put(NAME, BYTES),
      () => backend.get(NAME, new Uint8Array(1)),
      () => backend.head(NAME),
      () => backend.delete(NAME),
      () => first(backend.list("")),
    ]) {
      const text = `no connection to 127.0.0.1:${hole.port} within 0.2 s; check the address`;
      expect((await rejects(call(), "unavailable", text)).transient).toBe(true);
    }
  }, 30_000);

  test("a signal ends the call", async () => {
    const backend = at(hole.port, { connect: 600_000, firstByte: 600_000 });
    const signal = AbortSignal.timeout(100);
    await rejects(backend.head(NAME, { signal }), "aborted");
  }, 30_000);
});

/** A server that responds to HEAD. Counts connections, and those with a request. */
async function counting() {
  const seen = { opened: 0, withRequest: 0, respondAfterMs: 0, hangUp: false };
  const server = createServer((socket) => {
    seen.opened += 1;
    socket.on("error", () => undefined);
    socket.once("data", () => (seen.withRequest += 1));
    socket.on("data", () => {
      const answer = 'HTTP/1.1 200 OK\r\nETag: "0"\r\nContent-Length: 5\r\n\r\n';
      const reply = () => (seen.hangUp ? socket.destroy() : socket.write(answer));
      setTimeout(reply, seen.respondAfterMs);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { seen, port, [Symbol.dispose]: () => void server.close() };
}

describe("the connect probe", () => {
  const head = async (backend: Backend) => expect(await backend.head(NAME)).toEqual({ size: 5 });
  /** The probe starts after a quarter of these milliseconds, before the server responds. */
  const connect = 1000;
  const LATE = 400;

  test("makes none if the server responds soon", async () => {
    using server = await counting();
    await head(at(server.port));
    expect(server.seen).toMatchObject({ opened: 1, withRequest: 1 });
  });

  test("makes one connection beside the first requests, and none later", async () => {
    using server = await counting();
    const { seen } = server;
    const backend = at(server.port, { connect });
    seen.respondAfterMs = LATE;
    await Promise.all(Array.from({ length: 8 }, () => head(backend)));
    expect(seen.opened - seen.withRequest).toBe(1);
    seen.respondAfterMs = 0;
    for (let i = 0; i < 3; i++) await head(backend);
    expect(seen.opened - seen.withRequest).toBe(1);
  });

  test("makes another connection after a request without a response", async () => {
    using server = await counting();
    const { seen } = server;
    const backend = at(server.port, { connect });
    seen.respondAfterMs = LATE;
    await head(backend);
    seen.hangUp = true;
    await rejects(backend.head(NAME), "unavailable", `127.0.0.1:${server.port} failed`);
    seen.hangUp = false;
    expect(seen.opened - seen.withRequest).toBe(1);
    await head(backend);
    await head(backend);
    expect(seen.opened - seen.withRequest).toBe(2);
  });

  test("makes none if a proxy is set", async () => {
    using server = await counting();
    // The server also works as a proxy.
    process.env["all_proxy"] = `http://127.0.0.1:${server.port}`;
    try {
      server.seen.respondAfterMs = LATE;
      await head(at(server.port, { connect }));
      expect(server.seen).toMatchObject({ opened: 1, withRequest: 1 });
    } finally {
      delete process.env["all_proxy"];
    }
  });

  test("does not limit the time to the response", async () => {
    using server = await counting();
    server.seen.respondAfterMs = 500;
    await head(at(server.port, { connect: 100 }));
  });
});
