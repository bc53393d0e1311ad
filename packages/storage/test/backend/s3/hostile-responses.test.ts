import { describe, expect, spyOn, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { createStore } from "../../../src/index.ts";
import { rejects } from "../rejects.ts";
import { first, locationsAt, NAME, OTHER, served, xmlResponse } from "./fixtures.ts";

const MiB = 2 ** 20;
const ONCE = { retry: { budgetMs: 0, minAttempts: 1 } };
const timeouts = { firstByte: 20_000, stall: 20_000 };

const entry = (name: string) => `<Contents><Key>${name}</Key><Size>5</Size></Contents>`;

/** A server whose every page has this inside, and another token. */
function endlessPages(inner: (page: number) => string) {
  let pages = 0;
  const answer = () => {
    pages += 1;
    const next = `<NextContinuationToken>t${pages}</NextContinuationToken>`;
    return xmlResponse(`<IsTruncated>true</IsTruncated>${next}${inner(pages)}`);
  };
  return Object.assign(served(answer), { answer, pages: () => pages });
}

describe("a listing without an end", () => {
  test("of the same page over and over is an error", async () => {
    using one = endlessPages(() => entry(NAME));
    await rejects(
      Array.fromAsync(one.backend.list("")),
      "unavailable",
      "not a valid ListObjectsV2",
    );
    expect(one.pages()).toBe(2);
    using two = endlessPages((page) => entry(page % 2 === 0 ? NAME : OTHER));
    const found: string[] = [];
    const listing = (async () => {
      for await (const { name } of two.backend.list("")) found.push(name);
    })();
    await rejects(listing, "unavailable", "not a valid ListObjectsV2");
    expect(found).toEqual([OTHER]);
  });

  test("does not hold a call that waits for another blob", async () => {
    using fake = endlessPages(() => entry(NAME));
    const store = createStore({ backend: fake.backend });
    await rejects(store.resolve(NAME.slice(0, 20)), "unavailable");
  });

  test("of pages without a blob is an error, which no retry repeats", async () => {
    using fake = endlessPages((page) => entry(`other-${page}`));
    // Without a connection for each of the pages.
    using fetched = spyOn(globalThis, "fetch").mockImplementation((async () =>
      fake.answer()) as unknown as typeof fetch);
    const listing = Array.fromAsync(fake.backend.list(""));
    const error = await rejects(listing, "unavailable", "10000 pages in a row have no blob");
    expect(error.transient).toBe(false);
    expect(fetched).toHaveBeenCalledTimes(10_001);
  }, 60_000);

  test("does not send megabytes of a token back", async () => {
    using fake = served(() => {
      const next = `<NextContinuationToken>${"t".repeat(MiB)}</NextContinuationToken>`;
      return xmlResponse(`<IsTruncated>true</IsTruncated>${next}`);
    });
    const listing = Array.fromAsync(fake.backend.list(""));
    await rejects(listing, "unavailable", "no new continuation token");
  });

  test("of a blob's versions is an error", async () => {
    let pages = 0;
    using fake = served(({ method }) => {
      if (method === "DELETE") {
        return new Response(null, { status: 204, headers: { "x-amz-delete-marker": "true" } });
      }
      pages += 1;
      const next = `<NextKeyMarker>${NAME}</NextKeyMarker><NextVersionIdMarker>v${pages}</NextVersionIdMarker>`;
      return xmlResponse(`<IsTruncated>true</IsTruncated>${next}`, "ListVersionsResult");
    });
    const error = await rejects(fake.backend.delete(NAME), "unavailable", "too many versions");
    expect(error.transient).toBe(false);
    expect(pages).toBe(1000);
  });
});

describe("markup that takes long to parse is rejected", () => {
  const rows = [
    ["siblings", `<IsTruncated>false</IsTruncated>${"<a/>".repeat(MiB)}`],
    ["entities", `<IsTruncated>false</IsTruncated><Key>${"&amp;".repeat(MiB)}</Key>`],
    ["attributes", `<IsTruncated>false</IsTruncated><a ${"b='' ".repeat(MiB)}/>`],
  ] as const;

  test.each(rows)("in a listing: %s", async (_, inner) => {
    using fake = served(() => xmlResponse(inner));
    await rejects(Array.fromAsync(fake.backend.list("")), "unavailable", "ListObjectsV2");
  });

  test.each(rows)("in a bucket's settings: %s", async (_, inner) => {
    using fake = served(({ method }) =>
      method === "HEAD" ? new Response() : xmlResponse(inner, "VersioningConfiguration"),
    );
    for (const location of locationsAt(fake.endpoint, timeouts)) {
      await rejects(
        initBucket(location, { versioning: true }, ONCE),
        "unavailable",
        "the response is not one of an S3 server; check the endpoint URL",
      );
    }
  });

  test("but not the longest page of a real server", async () => {
    const text = "x".repeat(80);
    const field = `<Field>&quot;${text}&quot;</Field>`;
    const names = Array.from({ length: 1000 }, (_, index) => index.toString(16).padStart(64, "0"));
    const entries = names.map((name) =>
      entry(name).replace("</Size>", `</Size>${field.repeat(10)}`),
    );
    using fake = served(() => xmlResponse(`<IsTruncated>false</IsTruncated>${entries.join("")}`));
    expect(await Array.fromAsync(fake.backend.list(""), ({ name }) => name)).toEqual(names);
  });
});

describe("a compressed response is rejected before it is decompressed", () => {
  const bomb = Buffer.alloc(64 * MiB, 60);
  const rows = [
    ["gzip", gzipSync(bomb)],
    ["deflate", deflateSync(bomb)],
    ["br", brotliCompressSync(bomb)],
    ["zstd", zstdCompressSync(bomb)],
    ["GZIP, gzip", gzipSync(gzipSync(bomb))],
  ] as const;

  test.each(rows)("%s", async (encoding, body) => {
    let status = 200;
    using fake = served(
      () => new Response(body, { status, headers: { "content-encoding": encoding, etag: '"0"' } }),
    );
    const { backend } = fake;
    const before = process.memoryUsage.rss();
    for (status of [200, 403]) {
      for (const call of [
        () => backend.get(NAME, new Uint8Array(100)),
        () => backend.getRange!(NAME, 7, new Uint8Array(10)),
        () => backend.put(NAME, new Uint8Array(9)),
        () => backend.delete(NAME),
        () => first(backend.list("")),
      ]) {
        await rejects(call(), "unavailable", "the response is compressed");
      }
    }
    status = 200;
    for (const location of locationsAt(fake.endpoint, timeouts)) {
      await rejects(
        initBucket(location, { versioning: true }, ONCE),
        "unavailable",
        "the response is compressed",
      );
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * MiB);
  });

  test("but not one that only repeats the coding of an upload", async () => {
    using fake = served(
      () => new Response("abc", { headers: { "content-encoding": "aws-chunked", etag: '"0"' } }),
    );
    expect(await fake.backend.get(NAME, new Uint8Array(100))).toBe(3);
  });
});
