import { errorResponse, NAME, served, xmlResponse } from "./fixtures.ts";
import { expect, test } from "bun:test";
import { rejects } from "../rejects.ts";

const KEY = `store/${NAME}`;

/** More versions than fit on a page, in the order of the protocol: the latest first. */
const VERSIONS = Array.from({ length: 1003 }, (_, index) => `v${index}`);
const PAGE = 1000;

test("delete removes all versions of a blob, including those after the first page", async () => {
  const pages: [key: string | null, version: string | null][] = [];
  const removed: string[] = [];
  using fake = served(
    ({ method, url }) => {
      const { searchParams: query } = new URL(url);
      if (method === "DELETE") {
        const version = query.get("versionId");
        if (version === null) {
          return new Response(null, { status: 204, headers: { "x-amz-delete-marker": "true" } });
        }
        removed.push(version);
        return new Response(null, { status: 204 });
      }
      if (!query.has("versions")) return errorResponse(501, "NotImplemented");
      const after = query.get("version-id-marker");
      pages.push([query.get("key-marker"), after]);
      return page(after === null ? 0 : VERSIONS.indexOf(after) + 1);
    },
    { prefix: "store" },
  );
  await fake.backend.delete(NAME);
  expect(pages).toEqual([
    [null, null],
    [KEY, VERSIONS[PAGE - 1]!],
  ]);
  // The latest version is deleted last.
  expect(removed).toEqual([...VERSIONS.slice(1), VERSIONS[0]!]);
});

test("delete gives up on a server that lists versions for ever", async () => {
  let pages = 0;
  using fake = served(
    ({ method, url }) => {
      const query = new URL(url).searchParams;
      if (method === "DELETE") {
        return new Response(null, { status: 204, headers: { "x-amz-delete-marker": "true" } });
      }
      if (!query.has("versions")) return errorResponse(501, "NotImplemented");
      pages += 1;
      const id = `${pages}-`.padEnd(2 ** 20, "v");
      const version = `<Key>${KEY}</Key><VersionId>${id}</VersionId><IsLatest>false</IsLatest>`;
      const next = `<NextKeyMarker>${KEY}</NextKeyMarker><NextVersionIdMarker>${pages}</NextVersionIdMarker>`;
      return xmlResponse(
        `<IsTruncated>${pages < 64}</IsTruncated>${next}<Version>${version}</Version>`,
        "ListVersionsResult",
      );
    },
    { prefix: "store" },
  );
  await rejects(fake.backend.delete(NAME), "unavailable", "too many versions");
  expect(pages).toBeLessThan(10);
});

function page(from: number): Response {
  const listed = VERSIONS.slice(from, from + PAGE);
  const more = from + PAGE < VERSIONS.length;
  const versions = listed.map(
    (id, index) =>
      `<Version><Key>${KEY}</Key><VersionId>${id}</VersionId>` +
      `<IsLatest>${from + index === 0}</IsLatest><Size>1</Size></Version>`,
  );
  const next = more
    ? `<NextKeyMarker>${KEY}</NextKeyMarker>` +
      `<NextVersionIdMarker>${listed.at(-1)}</NextVersionIdMarker>`
    : "";
  return new Response(
    `<?xml version="1.0"?><ListVersionsResult><IsTruncated>${more}</IsTruncated>${next}` +
      `${versions.join("")}</ListVersionsResult>`,
    { headers: { "content-type": "application/xml" } },
  );
}
