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

describe("where nothing connects and nothing is refused", () => {
  let hole: BlackHole;
  beforeAll(async () => {
    hole = await blackHole();
  }, 60_000);
  afterAll(() => hole.stop());

  test("every call says so after the time for connecting, and may be tried again", async () => {
    // The time to the first byte is longer than the test may take.
    const backend = at(hole.port, { connect: 200, firstByte: 600_000 });
    for (const call of [
      () => backend.put(NAME, BYTES),
      () => backend.get(NAME, new Uint8Array(1)),
      () => backend.head(NAME),
      () => backend.delete(NAME),
      () => first(backend.list("")),
    ]) {
      const says = `no connection to 127.0.0.1:${hole.port} within 0.2 s; check the address`;
      expect((await rejects(call(), "unavailable", says)).transient).toBe(true);
    }
  }, 30_000);

  test("a signal ends the wait", async () => {
    const backend = at(hole.port, { connect: 600_000, firstByte: 600_000 });
    const signal = AbortSignal.timeout(100);
    await rejects(backend.head(NAME, { signal }), "aborted");
  }, 30_000);
});

/** A server that answers every look. Counts connections, and those over which a request came. */
async function counting() {
  const seen = { opened: 0, spoken: 0, answerAfterMs: 0, hangUp: false };
  const server = createServer((socket) => {
    seen.opened += 1;
    socket.on("error", () => undefined);
    socket.once("data", () => (seen.spoken += 1));
    socket.on("data", () => {
      const answer = 'HTTP/1.1 200 OK\r\nETag: "0"\r\nContent-Length: 5\r\n\r\n';
      const reply = () => (seen.hangUp ? socket.destroy() : socket.write(answer));
      setTimeout(reply, seen.answerAfterMs);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { seen, port, [Symbol.dispose]: () => void server.close() };
}

describe("beside the first requests", () => {
  const look = async (backend: Backend) => expect(await backend.head(NAME)).toEqual({ size: 5 });

  test("one connection is tried, and none later", async () => {
    using server = await counting();
    const { seen } = server;
    const backend = at(server.port);
    seen.answerAfterMs = 100;
    await Promise.all(Array.from({ length: 8 }, () => look(backend)));
    expect(seen.opened - seen.spoken).toBe(1);
    seen.answerAfterMs = 0;
    for (let i = 0; i < 3; i++) await look(backend);
    expect(seen.opened - seen.spoken).toBe(1);
  });

  test("another is tried after a request without an answer", async () => {
    using server = await counting();
    const { seen } = server;
    const backend = at(server.port);
    seen.answerAfterMs = 50;
    await look(backend);
    seen.hangUp = true;
    await rejects(backend.head(NAME), "unavailable", "the connection failed");
    seen.hangUp = false;
    expect(seen.opened - seen.spoken).toBe(1);
    await look(backend);
    await look(backend);
    expect(seen.opened - seen.spoken).toBe(2);
  });

  test("none is tried where there is a proxy", async () => {
    using server = await counting();
    // It takes what comes to it as a proxy as well.
    process.env["all_proxy"] = `http://127.0.0.1:${server.port}`;
    try {
      server.seen.answerAfterMs = 100;
      await look(at(server.port));
      expect(server.seen).toMatchObject({ opened: 1, spoken: 1 });
    } finally {
      delete process.env["all_proxy"];
    }
  });

  test("an answer may take longer than connecting", async () => {
    using server = await counting();
    server.seen.answerAfterMs = 500;
    await look(at(server.port, { connect: 100 }));
  });
});
