import { describe, expect, test } from "bun:test";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { rejects } from "../rejects.ts";
import { first, locationsAt, NAME, on, served } from "./fixtures.ts";

const BYTES = new Uint8Array(100).fill(7);
const ONCE = { retry: { budgetMs: 0, minAttempts: 1 } };
const MiB = 2 ** 20;

/** What a test sees of a body whose server never ends it. */
interface Sent {
  bytes: number;
}

/** A body that goes on as fast as it is read. */
function endless(sent: Sent, start: string): ReadableStream<Uint8Array> {
  const [head, more] = [Buffer.from(start), new Uint8Array(MiB / 4).fill(65)];
  return new ReadableStream({
    async pull(controller) {
      // Lets the server notice that the client has gone.
      await Bun.sleep(0);
      controller.enqueue(sent.bytes === 0 ? head : more);
      sent.bytes += more.length;
    },
  });
}

/** A body of one byte every few milliseconds. */
function dripping(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(10);
      controller.enqueue(Uint8Array.of(65));
    },
  });
}

describe("a response without an end", () => {
  const timeouts = { firstByte: 3000, stall: 3000 };

  test.each([
    ["put", 200],
    ["put", 500],
    ["delete", 200],
    ["get", 500],
    ["list", 200],
    ["capabilities", 200],
  ] as const)("to %s with status %p is not read on and on", async (call, status) => {
    const sent = { bytes: 0 };
    using fake = served(
      () => new Response(endless(sent, "<a>"), { status, headers: { etag: '"0"' } }),
      { timeouts },
    );
    const { backend } = fake;
    const calls = {
      put: () => backend.put(NAME, BYTES),
      delete: () => backend.delete(NAME),
      get: () => backend.get(NAME, new Uint8Array(100)),
      list: () => first(backend.list("")),
      capabilities: () => backend.capabilities!(),
    };
    const fails = status === 500 || call === "list" || call === "capabilities";
    if (fails) await rejects(calls[call](), "unavailable");
    else await calls[call]();
    expect(sent.bytes).toBeLessThan(64 * MiB);
  });

  test.each([
    ["the AWS SDK", 0],
    ["MinIO's client", 1],
  ] as const)("to initBucket through %s is cut off at 8 MiB", async (_, which) => {
    for (const status of [200, 403]) {
      const sent = { bytes: 0 };
      using fake = served(({ method }) =>
        method === "HEAD"
          ? new Response(null)
          : new Response(endless(sent, "<VersioningConfiguration>"), { status }),
      );
      const location = locationsAt(fake.endpoint, timeouts)[which]!;
      const settings = { versioning: true };
      await rejects(
        initBucket(location, settings, ONCE),
        "unavailable",
        "cannot prepare the bucket bucket: the response is longer than 8 MiB",
      );
      expect(sent.bytes).toBeLessThan(64 * MiB);
    }
  });
});

test("a chunked response is not read on and on because it announces a short length", async () => {
  const chunk = Buffer.concat([
    Buffer.from(`${(MiB / 4).toString(16)}\r\n`),
    Buffer.alloc(MiB / 4, 65),
    Buffer.from("\r\n"),
  ]);
  let sent = 0;
  const pour = (socket: Socket): void => {
    while (!socket.destroyed && sent < 256 * MiB) {
      sent += MiB / 4;
      if (!socket.write(chunk)) return;
    }
  };
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("drain", () => pour(socket));
    socket.once("data", () => {
      socket.write(
        'HTTP/1.1 200 OK\r\nETag: "0"\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      pour(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const access = { accessKeyId: "access-key", secretAccessKey: "secret-key" };
  const timeouts = { firstByte: 3000, stall: 3000 };
  try {
    const backend = on({ name: "bucket", server: { endpoint, ...access } }, { timeouts });
    await rejects(backend.get(NAME, new Uint8Array(100)), "limit", "longer than 100 bytes");
    expect(sent).toBeLessThan(64 * MiB);
  } finally {
    server.close();
  }
});

describe("a response that only drips", () => {
  const timeouts = { firstByte: 2000, stall: 300 };

  test("times out, whatever it responds to", async () => {
    for (const status of [200, 500]) {
      using fake = served(() => new Response(dripping(), { status, headers: { etag: '"0"' } }), {
        timeouts,
      });
      const { backend } = fake;
      for (const call of [
        () => backend.get(NAME, new Uint8Array(2000)),
        () => backend.put(NAME, BYTES),
        () => backend.delete(NAME),
        () => first(backend.list("")),
        () => backend.capabilities!(),
      ]) {
        const error = await rejects(call(), "unavailable", "sent less than 1 KiB/s for 0.3 s");
        expect(error.transient).toBe(true);
      }
    }
  });

  test.each([
    ["the AWS SDK", 0],
    ["MinIO's client", 1],
  ] as const)("times out for initBucket through %s", async (_, which) => {
    using fake = served(({ method }) => new Response(method === "HEAD" ? null : dripping()));
    const location = locationsAt(fake.endpoint, { firstByte: 200, stall: 100 })[which]!;
    await rejects(
      initBucket(location, { versioning: true }, ONCE),
      "unavailable",
      "did not respond for 0.3 s",
    );
  });

  test("is complete if it is slow, but fast enough", async () => {
    // In all longer than the time without a byte after which it would be given up.
    const [total, stall] = [16_384, 1000];
    using fake = served(
      () => {
        let sent = 0;
        const body = new ReadableStream({
          async pull(controller) {
            await Bun.sleep(50);
            controller.enqueue(new Uint8Array(512));
            sent += 512;
            if (sent === total) controller.close();
          },
        });
        return new Response(body);
      },
      { timeouts: { ...timeouts, stall } },
    );
    expect(await fake.backend.get(NAME, new Uint8Array(total))).toBe(total);
  });
});

test("initBucket through MinIO's client reports XML that is no result", async () => {
  using fake = served(({ method }) => new Response(method === "HEAD" ? null : "<html></html>"));
  const [, location] = locationsAt(fake.endpoint);
  await rejects(
    initBucket(location!, { versioning: true }, ONCE),
    "unavailable",
    "not a valid GetBucketVersioning result",
  );
});
