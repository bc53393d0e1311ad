import { describe, expect, setSystemTime, test } from "bun:test";
import type { ErrorCode } from "../../../src/errors.ts";
import { rejects } from "../rejects.ts";
import { errorResponse, first, messageOf, NAME, served } from "./fixtures.ts";

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
  [403, "SignatureDoesNotMatch", "permission", false, "does not match the access key"],
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
  [400, "constructor", "unavailable", false, "400 constructor words of the store"],
  [400, "SomethingNew", "unavailable", false, "400 SomethingNew words of the store"],
];

describe("what the store answers", () => {
  test.each(TABLE)(
    "%p %p is %p, transient %p",
    async (status, answer, code, transient, says, ...rest) => {
      const [message] = rest;
      using fake = served(() => errorResponse(status, answer, message));
      // Where the checksum header may be what is refused, put asks again without.
      for (const call of [
        () => fake.backend.put(NAME, BYTES),
        () => fake.backend.get(NAME, new Uint8Array(1)),
        () => fake.backend.delete(NAME),
        () => first(fake.backend.list("")),
      ]) {
        const error = await rejects(call(), code, says);
        expect(error.transient).toBe(transient);
        // The store's own words are kept, and said once.
        const own = [status, answer, message ?? "words of the store"].filter(Boolean).join(" ");
        const said = error.message.includes(own);
        expect(error.cause).toEqual(said ? undefined : new Error(own));
      }
    },
  );

  test("an answer to HEAD that gives no reason tells what it can be", async () => {
    using fake = served(() => new Response(null, { status: 400 }));
    await rejects(fake.backend.head(NAME), "unavailable", "have not expired");
  });

  test("a missing blob is not found", async () => {
    using fake = served(() => errorResponse(404, "NoSuchKey"));
    await rejects(fake.backend.get(NAME, new Uint8Array(1)), "not-found", NAME);
    await fake.backend.delete(NAME);
  });

  test.each([
    ["7", 7000],
    ["0", 0],
  ])("Retry-After: %p is kept", async (value, ms) => {
    using fake = served(() => errorResponse(503, "SlowDown", "", { "retry-after": value }));
    expect(await rejects(fake.backend.put(NAME, BYTES), "unavailable")).toHaveProperty(
      "retryAfterMs",
      ms,
    );
    expect(await rejects(first(fake.backend.list("")), "unavailable")).toHaveProperty(
      "retryAfterMs",
      ms,
    );
  });

  test("a MinIO that starts may be asked again before the minute that it asks for", async () => {
    using fake = served(() =>
      errorResponse(503, "XMinioServerNotInitialized", "Server not initialized yet", {
        "retry-after": "60",
      }),
    );
    const error = await rejects(fake.backend.put(NAME, BYTES), "unavailable");
    expect(error.transient).toBe(true);
    expect(error.retryAfterMs).toBeUndefined();
  });

  test("a Retry-After with a date is counted from now", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    using fake = served(() => errorResponse(503, "SlowDown", "", { "retry-after": date }));
    const { retryAfterMs } = await rejects(fake.backend.put(NAME, BYTES), "unavailable");
    expect(retryAfterMs).toBeWithin(50_000, 61_000);
  });

  test("a wrong clock is told by how much", async () => {
    const now = Date.now();
    const date = new Date(now).toUTCString();
    using fake = served(() => errorResponse(403, "RequestTimeTooSkewed", "", { date }));
    try {
      setSystemTime(now + 3_600_000);
      const message = await messageOf(fake.backend.put(NAME, BYTES));
      expect(message).toMatch(
        /the clock of this machine is 360\d s ahead of the store's; set the clock$/u,
      );
    } finally {
      setSystemTime();
    }
  });

  test.each([
    ["an answer to HEAD, which has no words", () => new Response(null, { status: 403 })],
    ["an answer that does not say why", () => errorResponse(403, "AccessDenied")],
  ])("a wrong clock is told from %s", async (_, refuse) => {
    const now = Date.now();
    using fake = served((request) => {
      const answer = request.method === "HEAD" ? new Response(null, { status: 403 }) : refuse();
      answer.headers.set("date", new Date(now).toUTCString());
      return answer;
    });
    const calls = [
      () => fake.backend.head(NAME),
      () => fake.backend.get(NAME, new Uint8Array(1)),
      () => fake.backend.put(NAME, BYTES),
      () => fake.backend.delete(NAME),
    ];
    try {
      for (const call of calls) {
        setSystemTime(now - 20 * 60_000);
        expect(await messageOf(call())).toMatch(
          /the clock of this machine is (?:1199|120\d) s behind the store's; set the clock$/u,
        );
        setSystemTime(now + 14 * 60_000);
        await rejects(call(), "permission", "the credentials do not allow it");
      }
    } finally {
      setSystemTime();
    }
  });

  test("a wrong clock stays wrong, whatever was called before", async () => {
    const now = Date.now();
    const dates: (string | null)[] = [];
    using fake = served(({ headers }) => {
      dates.push(headers.get("x-amz-date"));
      return errorResponse(403, "RequestTimeTooSkewed", "", { date: new Date(now).toUTCString() });
    });
    try {
      setSystemTime(now + 3_600_000);
      for (const call of [
        () => first(fake.backend.list("")),
        () => fake.backend.put(NAME, BYTES),
        () => first(fake.backend.list("")),
        () => fake.backend.get(NAME, new Uint8Array(1)),
      ]) {
        await rejects(call(), "permission", "the clock of this machine is 360");
      }
      const hour = new Date(now + 3_600_000).toISOString().slice(0, 13).replaceAll("-", "");
      expect(dates).toHaveLength(4);
      for (const date of dates) expect(date?.slice(0, 11)).toBe(hour);
    } finally {
      setSystemTime();
    }
  });

  test("a wrong clock is not blamed for what the store says itself", async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    using fake = served(() => errorResponse(403, "SignatureDoesNotMatch", "", { date }));
    await rejects(fake.backend.put(NAME, BYTES), "permission", "does not match the access key");
  });

  test("the region of the bucket is named", async () => {
    using fake = served(() =>
      errorResponse(301, "PermanentRedirect", "", { "x-amz-bucket-region": "eu-west-3" }),
    );
    await rejects(fake.backend.put(NAME, BYTES), "unavailable", "another region, eu-west-3; set");
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
    using fake = served(() => Response.redirect(elsewhere.url.href, 307));
    await rejects(fake.backend.put(NAME, BYTES), "unavailable");
    await rejects(fake.backend.get(NAME, new Uint8Array(9)), "unavailable");
    await rejects(fake.backend.head(NAME), "unavailable");
    expect(asked).toBe(0);
    void elsewhere.stop(true);
  });

  test("words that control a terminal, or go on for ever, are cut", async () => {
    const words = `\u001B[31m${"long ".repeat(1000)}`;
    using fake = served(() => errorResponse(400, "Odd", words));
    const message = await messageOf(fake.backend.put(NAME, BYTES));
    expect(message).toContain("long long");
    expect(message).not.toContain("\u001B");
    expect(message.length).toBeLessThan(600);
  });

  test("an endless error answer is not read to its end", async () => {
    using fake = served(
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
    await rejects(fake.backend.put(NAME, BYTES), "unavailable");
  });

  test("no message holds a secret, a signature or a query", async () => {
    for (const [status, code] of TABLE) {
      using fake = served(() => errorResponse(status, code));
      const { backend } = fake;
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
