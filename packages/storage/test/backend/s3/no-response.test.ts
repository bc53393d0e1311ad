import { describe, expect, test } from "bun:test";
import { rejects } from "../rejects.ts";
import type { Backend, CallOptions } from "../../../src/backend/backend.ts";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { first, locationsAt, NAME, served } from "./fixtures.ts";

const BYTES = new Uint8Array(100).fill(7);
const ONCE = { retry: { budgetMs: 0, minAttempts: 1 } };

describe("a request without a complete response", () => {
  test("is transient if the connection is refused", async () => {
    const { backend, [Symbol.dispose]: stop } = served(() => new Response());
    stop();
    for (const call of [
      () => backend.put(NAME, BYTES),
      () => backend.get(NAME, new Uint8Array(1)),
      () => backend.head(NAME),
      () => backend.delete(NAME),
      () => first(backend.list("")),
    ]) {
      const error = await rejects(call(), "unavailable", "refused the connection");
      expect(error.transient).toBe(true);
    }
  });

  test("times out if the server does not respond", async () => {
    using fake = served(() => new Promise<Response>(() => {}), {
      timeouts: { firstByte: 50, stall: 50 },
    });
    const start = performance.now();
    for (const call of [
      () => fake.backend.put(NAME, BYTES),
      () => fake.backend.get(NAME, new Uint8Array(1)),
      () => fake.backend.head(NAME),
      () => fake.backend.delete(NAME),
      () => first(fake.backend.list("")),
    ]) {
      const error = await rejects(call(), "unavailable", "did not respond for 0.");
      expect(error.transient).toBe(true);
    }
    for (const location of locationsAt(fake.endpoint, { firstByte: 50, stall: 50 })) {
      const error = await rejects(initBucket(location, {}, ONCE), "unavailable", "respond for 0.1");
      expect(error.transient).toBe(true);
    }
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  test("times out if the body stalls", async () => {
    using fake = served(() => new Response(stalling(), { headers: { "content-length": "1000" } }), {
      timeouts: { stall: 50 },
    });
    const error = await rejects(fake.backend.get(NAME, new Uint8Array(1000)), "unavailable");
    expect(error.transient).toBe(true);
  });

  test("ends at once when the signal fires, even if the body stalls", async () => {
    using fake = served(({ method }) =>
      method === "GET"
        ? new Response(stalling(), { headers: { "content-length": "1000" } })
        : new Promise<Response>(() => {}),
    );
    // Loads the SDK before the time is measured.
    await fake.backend.head(NAME, { signal: AbortSignal.timeout(500) }).catch(() => undefined);
    for (const call of [
      (options: { signal: AbortSignal }) => fake.backend.put(NAME, BYTES, options),
      (options: { signal: AbortSignal }) => fake.backend.get(NAME, new Uint8Array(1000), options),
      (options: { signal: AbortSignal }) => fake.backend.head(NAME, options),
      (options: { signal: AbortSignal }) => fake.backend.delete(NAME, options),
      (options: { signal: AbortSignal }) => fake.backend.capabilities!(options),
      (options: { signal: AbortSignal }) => first(fake.backend.list("", options)),
      ...locationsAt(fake.endpoint).map(
        (location) => (options: { signal: AbortSignal }) => initBucket(location, {}, options),
      ),
    ]) {
      const reason = new Error("enough");
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), 50);
      const start = performance.now();
      const error = await rejects(call(controller), "aborted");
      expect(error.cause).toBe(reason);
      expect(performance.now() - start).toBeLessThan(20_000);
    }
  });

  test("writes nothing to the buffer after the abort", async () => {
    let release = (): void => undefined;
    using fake = served(
      () =>
        new Response(
          new ReadableStream({
            async start(controller) {
              controller.enqueue(new Uint8Array(10).fill(1));
              await new Promise<void>((resolve) => {
                release = resolve;
              });
              controller.enqueue(new Uint8Array(10).fill(2));
              controller.close();
            },
          }),
          { headers: { "content-length": "20" } },
        ),
    );
    const [buffer, controller] = [new Uint8Array(20), new AbortController()];
    const call = fake.backend.get(NAME, buffer, controller);
    while (buffer[0] === 0) await Bun.sleep(5);
    controller.abort();
    await rejects(call, "aborted");
    buffer.fill(9);
    release();
    await Bun.sleep(50);
    expect(buffer.every((byte) => byte === 9)).toBe(true);
  });

  test("is transient if the body ends early", async () => {
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket, request) {
          // The rest of the blob is readable, so it is not damaged.
          const range = /range: bytes=(\d+-\d+)/iu.exec(request.toString("latin1"));
          socket.end(
            range === null
              ? "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this"
              : `HTTP/1.1 206 OK\r\nContent-Range: bytes ${range[1]}/1000\r\nContent-Length: 64\r\n\r\n${"x".repeat(64)}`,
          );
        },
      },
    });
    using fake = served(() => new Response(), { endpoint: `http://127.0.0.1:${listener.port}` });
    const error = await rejects(fake.backend.get(NAME, new Uint8Array(1000)), "unavailable");
    expect(error.transient).toBe(true);
    listener.stop(true);
  });

  test("does not write past the buffer if the blob is longer than announced", async () => {
    using fake = served(() => new Response(endless()));
    const store = new Uint8Array(3000);
    await rejects(fake.backend.get(NAME, store.subarray(1000, 2000)), "limit");
    expect(store.subarray(0, 1000)).toEqual(new Uint8Array(1000));
    expect(store.subarray(2000)).toEqual(new Uint8Array(1000));
  });

  test("reports missing credentials", async () => {
    const error = new Error("Could not load credentials from any providers");
    error.name = "CredentialsProviderError";
    using fake = served(() => new Response(), { credentials: () => Promise.reject(error) });
    await rejects(fake.backend.put(NAME, BYTES), "permission", "no credentials");
    await rejects(first(fake.backend.list("")), "permission", "no credentials");
  });
});

describe("credentials that never resolve", () => {
  const hanging = { credentials: () => new Promise<never>(() => {}) };
  const everyCall = (backend: Backend) => [
    (options: CallOptions) => backend.put(NAME, BYTES, options),
    (options: CallOptions) => backend.head(NAME, options),
    (options: CallOptions) => first(backend.list("", options)),
  ];

  test("time out", async () => {
    using fake = served(() => new Response(), {
      ...hanging,
      timeouts: { firstByte: 50, stall: 50 },
    });
    for (const call of everyCall(fake.backend)) {
      await rejects(call({}), "unavailable", "did not respond for 0.");
    }
  });

  test("end with the signal", async () => {
    using fake = served(() => new Response(), hanging);
    for (const call of everyCall(fake.backend)) {
      await rejects(call({ signal: AbortSignal.timeout(100) }), "aborted");
    }
  });
});

function stalling(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(10));
    },
  });
}

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(1);
      controller.enqueue(new Uint8Array(300));
    },
  });
}
