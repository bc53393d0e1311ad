import { describe, expect, setSystemTime, test } from "bun:test";
import type { ErrorCode } from "../../../src/errors.ts";
import { rejects } from "../rejects.ts";
import { errorResponse, first, messageOf, NAME, objectResponse, served } from "./fixtures.ts";

const BYTES = new Uint8Array(100).fill(7);

type Row = [
  status: number,
  s3Code: string,
  code: ErrorCode,
  transient: boolean,
  explanation: string,
  message?: string,
];

const TABLE: readonly Row[] = [
  [404, "NoSuchBucket", "unavailable", false, "the bucket bucket does not exist"],
  [403, "AccessDenied", "permission", false, "check their policy"],
  [403, "AllAccessDisabled", "permission", false, "check their policy"],
  [403, "InvalidAccessKeyId", "permission", false, "the access key is unknown"],
  [403, "SignatureDoesNotMatch", "permission", false, "the signature does not match"],
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
  [500, "InternalError", "unavailable", true, "500 InternalError the store"],
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
  [400, "constructor", "unavailable", false, "400 constructor the store's message"],
  [400, "SomethingNew", "unavailable", false, "400 SomethingNew the store's message"],
];

describe("an error response", () => {
  test.each(TABLE)(
    "%p %p is %p, transient %p",
    async (status, s3Code, code, transient, explanation, ...rest) => {
      const [message] = rest;
      using fake = served(() => errorResponse(status, s3Code, message));
      // A put retries without the checksum header if that may be the reason.
      for (const call of [
        () => fake.backend.put(NAME, BYTES),
        () => fake.backend.get(NAME, new Uint8Array(1)),
        () => fake.backend.delete(NAME),
        () => first(fake.backend.list("")),
      ]) {
        const error = await rejects(call(), code, explanation);
        expect(error.transient).toBe(transient);
        // The original message is kept, either in the message or as the cause.
        const original = [status, s3Code, message ?? "the store's message"]
          .filter(Boolean)
          .join(" ");
        const included = error.message.includes(original);
        expect(error.cause).toEqual(included ? undefined : new Error(original));
      }
    },
  );

  test("to HEAD without a reason lists possible reasons", async () => {
    using fake = served(() => new Response(null, { status: 400 }));
    await rejects(fake.backend.head(NAME), "unavailable", "have not expired");
  });

  test("for a missing blob is not-found, and a success of delete", async () => {
    using fake = served(() => errorResponse(404, "NoSuchKey"));
    await rejects(fake.backend.get(NAME, new Uint8Array(1)), "not-found", NAME);
    await fake.backend.delete(NAME);
  });

  test.each([
    ["7", 7000],
    ["0", 0],
  ])("with Retry-After: %p sets retryAfterMs", async (value, ms) => {
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

  test("of a starting MinIO ignores its Retry-After of a minute", async () => {
    using fake = served(() =>
      errorResponse(503, "XMinioServerNotInitialized", "Server not initialized yet", {
        "retry-after": "60",
      }),
    );
    const error = await rejects(fake.backend.put(NAME, BYTES), "unavailable");
    expect(error.transient).toBe(true);
    expect(error.retryAfterMs).toBeUndefined();
  });

  test("with a date in Retry-After sets retryAfterMs from now", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    using fake = served(() => errorResponse(503, "SlowDown", "", { "retry-after": date }));
    const { retryAfterMs } = await rejects(fake.backend.put(NAME, BYTES), "unavailable");
    expect(retryAfterMs).toBeWithin(50_000, 61_000);
  });

  test("for clock skew reports the difference", async () => {
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
    ["a response to HEAD, which has no body", () => new Response(null, { status: 403 })],
    ["a response without a reason", () => errorResponse(403, "AccessDenied")],
  ])("reports clock skew from %s", async (_, refuse) => {
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

  test("for clock skew does not change the date of later requests", async () => {
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

  test("with another reason does not report clock skew", async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    using fake = served(() => errorResponse(403, "SignatureDoesNotMatch", "", { date }));
    await rejects(fake.backend.put(NAME, BYTES), "permission", "the signature does not match");
  });

  test("with the region of the bucket reports it", async () => {
    using fake = served(() =>
      errorResponse(301, "PermanentRedirect", "", { "x-amz-bucket-region": "eu-west-3" }),
    );
    await rejects(fake.backend.put(NAME, BYTES), "unavailable", "another region, eu-west-3; set");
  });

  test("that redirects is not followed", async () => {
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

  test("with control characters or long texts is sanitized, in message and cause", async () => {
    const hostile = `\u001B[31m\u202E${"long ".repeat(4000)}`;
    for (const [status, s3Code] of [
      [400, "Odd"],
      [400, hostile],
      [404, "NoSuchBucket"],
      [400, "KMS.NotFoundException"],
      [503, "SlowDown"],
    ] as const) {
      using fake = served(() => errorResponse(status, s3Code, hostile));
      const error = await fake.backend.put(NAME, BYTES).catch((reason: unknown) => reason);
      for (const text of [(error as Error).message, ((error as Error).cause as Error)?.message]) {
        expect(text ?? "").not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect((text ?? "").length).toBeLessThan(750);
      }
    }
  });

  test("in headers is sanitized: the region, and a blob's encryption", async () => {
    const hostile = `eu\u009B31m${"-long".repeat(200)}`;
    using elsewhere = served(() =>
      errorResponse(301, "PermanentRedirect", "", { "x-amz-bucket-region": hostile }),
    );
    const message = await messageOf(elsewhere.backend.put(NAME, BYTES));
    expect(message).toContain("another region, eu 31m-long");
    expect(message.length).toBeLessThan(750);
    for (const header of [
      "x-amz-server-side-encryption",
      "x-amz-server-side-encryption-customer-algorithm",
    ]) {
      using fake = served(() => objectResponse({ [header]: hostile, "content-length": "1" }));
      const { encryption = "" } = (await fake.backend.head(NAME)) ?? {};
      expect(encryption).toContain("eu 31m-long");
      expect(encryption.length).toBeLessThan(520);
    }
  });

  test("without an end is not read to its end", async () => {
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

  test("never puts a secret, a signature or a query into the message", async () => {
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
