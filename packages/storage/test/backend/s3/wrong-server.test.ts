import { describe, expect, test } from "bun:test";
import { sha256 } from "../../support.ts";
import { rejects } from "../rejects.ts";
import { errorResponse, NAME, objectResponse, served } from "./fixtures.ts";

const BYTES = new Uint8Array(100).fill(7);

describe("a web server that accepts every request", () => {
  const page = () => new Response("<html><body>It works!</body></html>");

  test("is not mistaken for a store", async () => {
    using fake = served(page);
    for (const call of [() => fake.backend.put(NAME, BYTES), () => fake.backend.head(NAME)]) {
      const error = await rejects(call(), "unavailable", "is not from an S3 store");
      expect(error.transient).toBe(false);
    }
  });
});

describe("a web server that responds 404 to every request", () => {
  const page = () => new Response("<html><body>Not here</body></html>", { status: 404 });

  test("is reported as a missing bucket, not a missing blob", async () => {
    using fake = served(page);
    for (const call of [
      () => fake.backend.get(NAME, new Uint8Array(1)),
      () => fake.backend.head(NAME),
    ]) {
      await rejects(call(), "unavailable", "the bucket bucket does not exist");
    }
  });

  test("is distinguished from a store that has the bucket", async () => {
    const seen: string[] = [];
    using fake = served(({ method, url }) => {
      seen.push(method);
      return url.endsWith("/bucket/") ? new Response() : page();
    });
    for (let run = 0; run < 2; run++) {
      await rejects(fake.backend.get(NAME, new Uint8Array(1)), "not-found", NAME);
    }
    // One HEAD request for the bucket.
    expect(seen).toEqual(["GET", "HEAD", "GET"]);
  });

  test("NoSuchKey needs no request for the bucket", async () => {
    const seen: string[] = [];
    using fake = served(({ method }) => {
      seen.push(method);
      return errorResponse(404, "NoSuchKey");
    });
    await rejects(fake.backend.get(NAME, new Uint8Array(1)), "not-found");
    expect(seen).toEqual(["GET"]);
  });
});

test("a put fails if the store returns the checksum of other data", async () => {
  const kept = (hex: string) => ({
    "x-amz-checksum-sha256": Buffer.from(hex, "hex").toString("base64"),
  });
  using other = served(() => objectResponse(kept(NAME)));
  const error = await rejects(
    other.backend.put(NAME, BYTES),
    "unavailable",
    "the checksum of other data",
  );
  expect(error.transient).toBe(true);
  using same = served(() => objectResponse(kept(sha256(BYTES))));
  await same.backend.put(NAME, BYTES);
});
