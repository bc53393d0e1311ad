import { describe, expect, spyOn, test } from "bun:test";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { rejects } from "../rejects.ts";
import { errorResponse, locationsAt, served } from "./fixtures.ts";

const QUICK = { firstDelayMs: 1, maxDelayMs: 1 };

describe.each([
  ["the AWS SDK", 0],
  ["MinIO's client", 1],
] as const)("initBucket with %s", (_, which) => {
  test("retries if the store is busy, and prints nothing", async () => {
    const seen: string[] = [];
    using fake = served(({ method }) => {
      seen.push(method);
      if (seen.length === 1) return errorResponse(503, "SlowDown");
      return new Response(null, { status: method === "HEAD" ? 404 : 200 });
    });
    const warn = spyOn(console, "warn").mockImplementation(() => undefined);
    try {
      const retries: unknown[] = [];
      const onRetry = (retry: object) => retries.push(retry);
      const location = locationsAt(fake.endpoint)[which]!;
      const report = await initBucket(location, {}, { retry: { ...QUICK, onRetry } });
      expect(report).toEqual({ made: ["bucket"], there: [] });
      expect(seen).toEqual(["HEAD", "HEAD", "PUT"]);
      expect(retries).toMatchObject([{ call: "initBucket", attempt: 1 }]);
      expect(warn).not.toHaveBeenCalled();
    } finally {
      warn.mockRestore();
    }
  });

  test("reports the delay that a busy store requests", async () => {
    using fake = served(() => errorResponse(503, "SlowDown", "", { "retry-after": "7" }));
    const location = locationsAt(fake.endpoint)[which]!;
    const once = { retry: { budgetMs: 0, minAttempts: 1 } };
    const error = await rejects(initBucket(location, {}, once), "unavailable", "busy");
    expect(error).toMatchObject({ transient: true, retryAfterMs: 7000 });
  });

  test("does not retry a permanent error", async () => {
    let asked = 0;
    using fake = served(() => {
      asked += 1;
      return errorResponse(403, "AccessDenied");
    });
    await rejects(initBucket(locationsAt(fake.endpoint)[which]!), "permission", "check their");
    expect(asked).toBe(1);
  });
});

test("initBucket rejects a bucket name that is invalid on MinIO", async () => {
  const [, location] = locationsAt("http://127.0.0.1:1");
  await rejects(initBucket({ ...location!, bucket: "No_Such" }), "usage", "the bucket's name");
});
