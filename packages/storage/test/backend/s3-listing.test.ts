import { describe, expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { b2 } from "../../src/backend/b2.ts";
import { rejects } from "./rejects.ts";
import { listingAnswer, NAME, served } from "./s3-setting.ts";

const ENTRY = `<Contents><Key>${NAME}</Key><Size>5</Size></Contents>`;
const MORE = "<IsTruncated>true</IsTruncated>";

const all = (backend: Backend) => Array.fromAsync(backend.list(""));

describe("what is no whole listing is an error that may pass, and not an empty listing", () => {
  test.each([
    ["an empty answer", () => new Response()],
    ["a web page", () => new Response("<html><body>hello</body></html>")],
    ["a web page that is no XML", () => new Response("<html><body>hello<br></body></html>")],
    ["text", () => new Response("hello")],
    ["a page that does not say whether it is the last", () => listingAnswer(ENTRY)],
    ["a page that does not say how to go on", () => listingAnswer(ENTRY + MORE)],
    [
      "a page that leads to itself",
      () => listingAnswer(`${ENTRY}${MORE}<NextContinuationToken>t</NextContinuationToken>`),
    ],
  ])("%s", async (_, answer) => {
    using place = served(answer);
    const error = await rejects(all(place.backend), "unavailable", "cannot list bucket/");
    expect(error.transient).toBe(true);
  });

  test("one blob on each of two pages is two pages", async () => {
    using place = served(({ url }) =>
      url.includes("continuation-token=t")
        ? listingAnswer("<IsTruncated>false</IsTruncated>")
        : listingAnswer(`${ENTRY}${MORE}<NextContinuationToken>t</NextContinuationToken>`),
    );
    expect(await all(place.backend)).toEqual([{ name: NAME, size: 5 }]);
  });
});

describe("a blob is not deleted where its versions cannot be found", () => {
  const more = `${MORE}<NextKeyMarker>${NAME}</NextKeyMarker><NextVersionIdMarker>v</NextVersionIdMarker>`;
  test.each([
    ["an empty answer", () => new Response()],
    ["a web page", () => new Response("<html><body>hello</body></html>")],
    ["a page that does not say how to go on", () => listingAnswer(MORE, "ListVersionsResult")],
    ["a page that leads to itself", () => listingAnswer(more, "ListVersionsResult")],
  ])("%s", async (_, answer) => {
    const methods: string[] = [];
    using place = served(({ method }) => {
      methods.push(method);
      return answer();
    });
    const keys = { region: "r", keyId: "id", applicationKey: "key" };
    const backend = b2({ bucket: "bucket", endpoint: place.endpoint, ...keys });
    const error = await rejects(backend.delete(NAME), "unavailable", "cannot find the versions");
    expect(error.transient).toBe(true);
    expect(methods).not.toContain("DELETE");
  });
});
