import { describe, expect, test } from "bun:test";
import { s3 } from "../../../src/backend/s3.ts";
import { serverClock } from "../../../src/backend/s3/http/connection.ts";
import { NAME } from "./fixtures.ts";

describe("the server's clock", () => {
  const noon = Date.parse("2026-05-04T12:00:00Z");

  test("is compared to the second, by the last response with a date", () => {
    let here = noon + 90_500;
    const clock = serverClock(() => here);
    expect(clock.aheadMs).toBeUndefined();
    clock.observe("Mon, 04 May 2026 12:00:00 GMT");
    expect(clock.aheadMs).toBe(90_000);
    for (const nothing of [null, "", "soon"]) clock.observe(nothing);
    expect(clock.aheadMs).toBe(90_000);
    here = noon - 59_500;
    clock.observe("Mon, 04 May 2026 12:00:00 GMT");
    expect(clock.aheadMs).toBe(-60_000);
  });

  test("is known after the first response, even an error", async () => {
    const skewed = new Date(Date.now() - 3_600_000).toUTCString();
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(null, { status: 403, headers: { date: skewed } }),
    });
    const backend = s3({
      bucket: "bucket",
      endpoint: server.url.origin,
      region: "us-east-1",
      credentials: { accessKeyId: "access-key", secretAccessKey: "secret-key" },
    });
    expect(backend.clockAheadMs!()).toBeUndefined();
    await backend.head(NAME).catch(() => undefined);
    const ahead = backend.clockAheadMs!()!;
    expect(Math.abs(ahead - 3_600_000)).toBeLessThan(60_000);
    await backend.close!();
    void server.stop(true);
  });
});
