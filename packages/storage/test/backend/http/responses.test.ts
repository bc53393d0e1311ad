import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { http } from "../../../src/backend/http.ts";
import { codeOf, random } from "../../support.ts";
import { rejects } from "../rejects.ts";
import { type BlobServer, blobServer } from "./blob-server.ts";

const NAME = "ab".padEnd(64, "0123456789");
const BYTES = random(300_000);

type Respond = Parameters<typeof blobServer>[0];

function responding(
  respond: Respond,
  stall?: number,
): BlobServer & { readonly backend: ReturnType<typeof http> } {
  const server = blobServer(respond);
  return { ...server, backend: http({ url: server.url, timeouts: { stall } }) };
}

function xml(status: number, code: string, message: string): Response {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return new Response(text, { status, headers: { "content-type": "application/xml" } });
}

describe("a refusal", () => {
  test.each([
    [403, "AccessDenied", "Request has expired", "permission", "the signed URL has expired"],
    [400, "ExpiredToken", "The provided token has expired.", "permission", "has expired"],
    [403, "AccessDenied", "Request is not valid yet", "permission", "set the clock"],
    [403, "AccessDenied", "Access Denied", "permission", "if the blob does not exist"],
    [403, "SignatureDoesNotMatch", "It does not match.", "permission", "sign GET"],
    [404, "NoSuchKey", "There is none.", "not-found", "it does not exist"],
    [404, "NoSuchBucket", "There is none.", "unavailable", "the bucket does not exist"],
    [400, "InvalidBucketName", "It is not valid.", "unavailable", "must be 3 to 63 lower-case"],
    [503, "SlowDown", "Reduce your rate.", "unavailable", "the store is busy"],
    [400, "InvalidRequest", "No.", "unavailable", "the store responded 400 InvalidRequest No."],
  ] as const)("%d %s %p means %s", async (status, errorCode, message, code, text) => {
    using at = responding(() => xml(status, errorCode, message));
    const failure = await rejects(at.backend.get(NAME, new Uint8Array(9)), code, text);
    expect(failure.transient).toBe(status === 503);
  });

  test.each([
    [400, "unavailable", false],
    [401, "permission", false],
    [403, "permission", false],
    [404, "not-found", false],
    [405, "permission", false],
    [413, "unavailable", false],
    [429, "unavailable", true],
    [500, "unavailable", true],
    [501, "unavailable", false],
  ] as const)("without a reason, %d means %s", async (status, code, transient) => {
    using at = responding(() => new Response(null, { status }));
    const failure = await at.backend.get(NAME, new Uint8Array(9)).catch((error) => error);
    expect([failure.code, failure.transient]).toEqual([code, transient]);
  });

  test("of a missing blob is no error for head and delete, but one of a missing bucket is", async () => {
    using missing = responding(() => new Response(null, { status: 404 }));
    expect(await missing.backend.head(NAME)).toBeUndefined();
    await missing.backend.delete(NAME);
    using bucket = responding(() => xml(404, "NoSuchBucket", "There is none."));
    expect(await bucket.backend.delete(NAME).catch(codeOf)).toBe("unavailable");
  });

  test("of an upload is not about a missing blob", async () => {
    using at = responding(() => new Response(null, { status: 404 }));
    await rejects(at.backend.put(NAME, BYTES), "unavailable", "check the URL");
  });

  test("keeps how long the server asks to wait", async () => {
    const headers = { "retry-after": "7" };
    using at = responding(() => new Response(null, { status: 503, headers }));
    const failure = await rejects(at.backend.head(NAME), "unavailable", "busy");
    expect(failure.retryAfterMs).toBe(7000);
  });
});

describe("a body", () => {
  test("that is longer than the buffer is not read", async () => {
    using at = responding(() => new Response(BYTES));
    expect(await at.backend.get(NAME, new Uint8Array(299_999)).catch(codeOf)).toBe("limit");
  });

  test.each(["OK", "error"])("without an end is not read to its end (%s)", async (kind) => {
    let pulled = 0;
    using at = responding(() => {
      const body = new ReadableStream({
        async pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(2 ** 16));
          await Bun.sleep(1);
        },
      });
      return new Response(body, { status: kind === "OK" ? 200 : 500 });
    });
    const code = await at.backend.get(NAME, new Uint8Array(300_000)).catch(codeOf);
    expect(code).toBe(kind === "OK" ? "limit" : "unavailable");
    expect(pulled).toBeLessThan(200);
  });

  test("that does not arrive is given up", async () => {
    const start = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new Uint8Array(1));
    using at = responding(() => new Response(new ReadableStream({ start })), 200);
    const reading = at.backend.get(NAME, new Uint8Array(9));
    const failure = await rejects(reading, "unavailable", "sent less than 1 KiB/s");
    expect(failure.transient).toBe(true);
  });

  test("that ends early is reported as truncated", async () => {
    const server = Bun.listen({
      port: 0,
      hostname: "127.0.0.1",
      socket: {
        data(socket) {
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort");
          socket.end();
        },
      },
    });
    const backend = http({ url: `http://127.0.0.1:${server.port}/` });
    const failure = await backend.get(NAME, new Uint8Array(100)).catch((error) => error);
    expect([failure.code, failure.transient]).toEqual(["unavailable", true]);
    server.stop(true);
  });

  test("that is compressed is not read, because a short one can decompress to gigabytes", async () => {
    const headers = { "content-encoding": "gzip" };
    using at = responding(() => new Response(gzipSync(new Uint8Array(1000)), { headers }));
    const reading = at.backend.get(NAME, new Uint8Array(2000));
    await rejects(reading, "unavailable", "the response is compressed");
    expect(at.requests[0]!.headers.get("accept-encoding")).toBe("identity");
  });
});

describe("a ranged read", () => {
  test("believes a server that sends a part and does not say which", async () => {
    // As a browser shows it if CORS rules do not expose Content-Range.
    using at = responding(() => new Response(BYTES.slice(1000, 1064), { status: 206 }));
    const buffer = new Uint8Array(64);
    expect(await at.backend.getRange!(NAME, 1000, buffer)).toBe(64);
    expect(buffer).toEqual(BYTES.slice(1000, 1064));
  });

  test("finds the range in the whole blob", async () => {
    using at = responding(() => new Response(BYTES));
    const buffer = new Uint8Array(64);
    expect(await at.backend.getRange!(NAME, 1000, buffer)).toBe(64);
    expect(buffer).toEqual(BYTES.slice(1000, 1064));
  });
});

test("head reports length and time", async () => {
  const modified = "Wed, 21 Oct 2015 07:28:00 GMT";
  using at = responding(() => new Response(BYTES, { headers: { "last-modified": modified } }));
  expect(await at.backend.head(NAME)).toEqual({ size: 300_000, storedAt: Date.parse(modified) });
});
