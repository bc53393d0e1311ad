import { describe, expect, setSystemTime, test } from "bun:test";
import type { ErrorCode } from "../../src/errors.ts";
import { rejects } from "./rejects.ts";
import { errorAnswer, messageOf, NAME, served } from "./s3-setting.ts";

const BYTES = new Uint8Array(100).fill(7);

type Row = [
  status: number,
  answer: string,
  code: ErrorCode,
  transient: boolean,
  says: string,
  message?: string,
];

const TABLE: readonly Row[] = [
  [404, "NoSuchBucket", "unavailable", false, "the bucket bucket does not exist"],
  [403, "AccessDenied", "permission", false, "check their policy"],
  [403, "AllAccessDisabled", "permission", false, "check their policy"],
  [403, "InvalidAccessKeyId", "permission", false, "the access key is unknown"],
  [403, "SignatureDoesNotMatch", "permission", false, "does not fit the access key"],
  [400, "ExpiredToken", "permission", false, "expired; sign in again"],
  [401, "Unauthorized", "permission", false, "check them"],
  [403, "RequestTimeTooSkewed", "permission", false, "the clock of this machine"],
  [400, "XAmzContentSHA256Mismatch", "unavailable", true, "damaged"],
  [400, "XAmzContentChecksumMismatch", "unavailable", true, "damaged"],
  [400, "BadDigest", "unavailable", true, "damaged"],
  [400, "IncompleteBody", "unavailable", true, "damaged"],
  [400, "RequestTimeout", "unavailable", true, "too long"],
  [408, "", "unavailable", true, "408"],
  [409, "OperationAborted", "unavailable", true, "busy"],
  [409, "ConditionalRequestConflict", "unavailable", true, "busy"],
  [429, "", "unavailable", true, "busy"],
  [500, "InternalError", "unavailable", true, "500 InternalError words"],
  [501, "NotImplemented", "unavailable", false, "NotImplemented"],
  [502, "", "unavailable", true, "502"],
  [503, "SlowDown", "unavailable", true, "busy"],
  [503, "ServiceUnavailable", "unavailable", true, "busy"],
  [503, "", "unavailable", true, "busy"],
  [504, "", "unavailable", true, "504"],
  [507, "XMinioStorageFull", "unavailable", false, "full"],
  [507, "InsufficientStorage", "unavailable", false, "full"],
  [400, "XMinioAdminBucketQuotaExceeded", "unavailable", false, "quota"],
  [
    403,
    "AccessDenied",
    "unavailable",
    false,
    "a cap",
    "Transaction cap exceeded, see the Caps page",
  ],
  [403, "AccessDenied", "permission", false, "cannot encrypt", "not authorized for kms:Decrypt"],
  [400, "KMS.NotFoundException", "unavailable", false, "encryption option"],
  [501, "NotImplemented", "unavailable", false, "encryption option", "KMS is not configured"],
  [400, "InvalidRequest", "unavailable", false, "encryption option", "Server Side Encryption ..."],
  [403, "InvalidObjectState", "unavailable", false, "archive"],
  [301, "PermanentRedirect", "unavailable", false, "in another region"],
  [307, "TemporaryRedirect", "unavailable", true, "busy"],
  [400, "AuthorizationHeaderMalformed", "unavailable", false, "in another region"],
  [400, "SomethingNew", "unavailable", false, "400 SomethingNew words of the store"],
];

describe("what the store answers", () => {
  test.each(TABLE)(
    "%p %p is %p, transient %p",
    async (status, answer, code, transient, says, ...rest) => {
      const [message] = rest;
      using place = served(() => errorAnswer(status, answer, message));
      // Where the checksum header may be what is refused, put asks again without.
      for (const call of [
        () => place.backend.put(NAME, BYTES),
        () => place.backend.get(NAME, new Uint8Array(1)),
        () => place.backend.delete(NAME),
        () => first(place.backend.list("")),
      ]) {
        const error = await rejects(call(), code, says);
        expect(error.transient).toBe(transient);
        expect(error.cause).toBeInstanceOf(Error);
      }
    },
  );

  test("an answer to HEAD that gives no reason tells what it can be", async () => {
    using place = served(() => new Response(null, { status: 400 }));
    await rejects(place.backend.head(NAME), "unavailable", "have not expired");
  });

  test("a missing blob is not found", async () => {
    using place = served(() => errorAnswer(404, "NoSuchKey"));
    await rejects(place.backend.get(NAME, new Uint8Array(1)), "not-found", NAME);
    await place.backend.delete(NAME);
  });

  test.each([
    ["7", 7000],
    ["0", 0],
  ])("Retry-After: %p is kept", async (value, ms) => {
    using place = served(() => errorAnswer(503, "SlowDown", "", { "retry-after": value }));
    expect(await rejects(place.backend.put(NAME, BYTES), "unavailable")).toHaveProperty(
      "retryAfterMs",
      ms,
    );
    expect(await rejects(first(place.backend.list("")), "unavailable")).toHaveProperty(
      "retryAfterMs",
      ms,
    );
  });

  test("a Retry-After with a date is counted from now", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    using place = served(() => errorAnswer(503, "SlowDown", "", { "retry-after": date }));
    const { retryAfterMs } = await rejects(place.backend.put(NAME, BYTES), "unavailable");
    expect(retryAfterMs).toBeWithin(50_000, 61_000);
  });

  test("a wrong clock is told by how much", async () => {
    const now = Date.now();
    const date = new Date(now).toUTCString();
    using place = served(() => errorAnswer(403, "RequestTimeTooSkewed", "", { date }));
    try {
      setSystemTime(now + 3_600_000);
      const message = await messageOf(place.backend.put(NAME, BYTES));
      expect(message).toMatch(/the clock of this machine is 360\d s ahead of the store's; set it/u);
    } finally {
      setSystemTime();
    }
  });

  test("the region of the bucket is named", async () => {
    using place = served(() =>
      errorAnswer(301, "PermanentRedirect", "", { "x-amz-bucket-region": "eu-west-3" }),
    );
    await rejects(place.backend.put(NAME, BYTES), "unavailable", "another region, eu-west-3; set");
  });

  test("a redirect is not followed", async () => {
    let asked = 0;
    using elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => {
        asked += 1;
        return new Response();
      },
    });
    using place = served(() => Response.redirect(elsewhere.url.href, 307));
    await rejects(place.backend.put(NAME, BYTES), "unavailable");
    await rejects(place.backend.get(NAME, new Uint8Array(9)), "unavailable");
    await rejects(place.backend.head(NAME), "unavailable");
    expect(asked).toBe(0);
    void elsewhere.stop(true);
  });

  test("words that control a terminal, or go on for ever, are cut", async () => {
    const words = `\u001B[31m${"long ".repeat(1000)}`;
    using place = served(() => errorAnswer(400, "Odd", words));
    const message = await messageOf(place.backend.put(NAME, BYTES));
    expect(message).toContain("long long");
    expect(message).not.toContain("\u001B");
    expect(message.length).toBeLessThan(600);
  });

  test("an endless error answer is not read to its end", async () => {
    using place = served(
      () =>
        new Response(
          new ReadableStream({
            async pull(controller) {
              await Bun.sleep(1);
              controller.enqueue(new Uint8Array(16_384).fill(65));
            },
          }),
          { status: 500 },
        ),
    );
    await rejects(place.backend.put(NAME, BYTES), "unavailable");
  });

  test("no message holds a secret, a signature or a query", async () => {
    for (const [status, code] of TABLE) {
      using place = served(() => errorAnswer(status, code));
      const { backend } = place;
      for (const call of [
        () => backend.put(NAME, BYTES),
        () => backend.delete(NAME),
        () => first(backend.list("")),
      ]) {
        const error: unknown = await call().catch((reason: unknown) => reason);
        const text = Bun.inspect(error);
        expect(text).not.toMatch(/secret-key|access-key|AWS4-HMAC|Signature=|versionId|list-type/u);
      }
    }
  });
});

describe("without an answer", () => {
  test("a refused connection may be tried again", async () => {
    const { backend, [Symbol.dispose]: stop } = served(() => new Response());
    stop();
    for (const call of [
      () => backend.put(NAME, BYTES),
      () => backend.get(NAME, new Uint8Array(1)),
      () => backend.head(NAME),
      () => backend.delete(NAME),
      () => first(backend.list("")),
    ]) {
      const error = await rejects(call(), "unavailable", "the connection failed");
      expect(error.transient).toBe(true);
    }
  });

  test("a host that does not resolve may be tried again", async () => {
    using place = served(() => new Response(), { endpoint: "http://nowhere.invalid" });
    const error = await rejects(place.backend.put(NAME, BYTES), "unavailable", "connection failed");
    expect(error.transient).toBe(true);
  });

  test("a server that says nothing is waited for only so long", async () => {
    using place = served(() => new Promise<Response>(() => {}), {
      timeouts: { firstByte: 50, stall: 50 },
    });
    const start = performance.now();
    for (const call of [
      () => place.backend.put(NAME, BYTES),
      () => place.backend.get(NAME, new Uint8Array(1)),
      () => place.backend.head(NAME),
      () => place.backend.delete(NAME),
      () => first(place.backend.list("")),
    ]) {
      const error = await rejects(call(), "unavailable", "did not answer for 0.");
      expect(error.transient).toBe(true);
    }
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  test("a body that stalls is waited for only so long", async () => {
    using place = served(
      () => new Response(stalling(), { headers: { "content-length": "1000" } }),
      { timeouts: { stall: 50 } },
    );
    const error = await rejects(place.backend.get(NAME, new Uint8Array(1000)), "unavailable");
    expect(error.transient).toBe(true);
  });

  test("a signal ends every call at once, also a stalled body", async () => {
    using place = served(({ method }) =>
      method === "GET"
        ? new Response(stalling(), { headers: { "content-length": "1000" } })
        : new Promise<Response>(() => {}),
    );
    // The SDK is loaded before the clock runs.
    await place.backend.head(NAME, { signal: AbortSignal.timeout(500) }).catch(() => undefined);
    for (const call of [
      (options: { signal: AbortSignal }) => place.backend.put(NAME, BYTES, options),
      (options: { signal: AbortSignal }) => place.backend.get(NAME, new Uint8Array(1000), options),
      (options: { signal: AbortSignal }) => place.backend.head(NAME, options),
      (options: { signal: AbortSignal }) => place.backend.delete(NAME, options),
      (options: { signal: AbortSignal }) => place.backend.capabilities!(options),
      (options: { signal: AbortSignal }) => first(place.backend.list("", options)),
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

  test("nothing comes into the buffer after the abort", async () => {
    let release = (): void => undefined;
    using place = served(
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
    const call = place.backend.get(NAME, buffer, controller);
    while (buffer[0] === 0) await Bun.sleep(5);
    controller.abort();
    await rejects(call, "aborted");
    buffer.fill(9);
    release();
    await Bun.sleep(50);
    expect(buffer.every((byte) => byte === 9)).toBe(true);
  });

  test("a body that ends early may be fetched again", async () => {
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket) {
          socket.end("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
        },
      },
    });
    using place = served(() => new Response(), { endpoint: `http://127.0.0.1:${listener.port}` });
    const error = await rejects(place.backend.get(NAME, new Uint8Array(1000)), "unavailable");
    expect(error.transient).toBe(true);
    listener.stop(true);
  });

  test("a blob that is longer than announced stays within the buffer", async () => {
    using place = served(() => new Response(endless()));
    const store = new Uint8Array(3000);
    await rejects(place.backend.get(NAME, store.subarray(1000, 2000)), "limit");
    expect(store.subarray(0, 1000)).toEqual(new Uint8Array(1000));
    expect(store.subarray(2000)).toEqual(new Uint8Array(1000));
  });

  test("missing credentials are told as such", async () => {
    const error = new Error("Could not load credentials from any providers");
    error.name = "CredentialsProviderError";
    using place = served(() => new Response(), { credentials: () => Promise.reject(error) });
    await rejects(place.backend.put(NAME, BYTES), "permission", "no credentials");
    await rejects(first(place.backend.list("")), "permission", "no credentials");
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

async function first(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items) return;
}
