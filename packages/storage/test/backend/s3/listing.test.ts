import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Backend } from "../../../src/backend/backend.ts";
import { b2 } from "../../../src/backend/b2.ts";
import { parseXml } from "../../../src/backend/s3/http/parse-xml.ts";
import { type XmlElement, textOf } from "../../../src/backend/s3/http/xml.ts";
import { sha256 } from "../../support.ts";
import { rejects } from "../rejects.ts";
import { errorResponse, xmlResponse, NAME, OTHER, served } from "./fixtures.ts";

const ENTRY = `<Contents><Key>${NAME}</Key><Size>5</Size></Contents>`;
const LAST = "<IsTruncated>false</IsTruncated>";
const MORE = "<IsTruncated>true</IsTruncated>";

const ENTITY_BOMB = `<?xml version="1.0"?><!DOCTYPE ListBucketResult [<!ENTITY a "${"a".repeat(1000)}">${Array.from(
  { length: 10 },
  (_, i) => `<!ENTITY a${i} "${`&a${i === 0 ? "" : i - 1};`.repeat(100)}">`,
).join("")}]><ListBucketResult>${LAST}<Prefix>&a9;</Prefix></ListBucketResult>`;

const all = (backend: Backend) => Array.fromAsync(backend.list(""));

/** Responses that are valid for no listing, of objects or of versions. */
type Row = [what: string, response: () => Response];

const INVALID: readonly Row[] = [
  ["an empty response", () => new Response()],
  ["a web page", () => new Response("<html><body>hello</body></html>")],
  ["a web page with a doctype", () => new Response("<!DOCTYPE html><html><body></body></html>")],
  ["a web page that is not XML", () => new Response("<html><body>hello<br></body></html>")],
  ["text", () => new Response("hello")],
  ["XML that ends early", () => new Response(`<ListBucketResult>${LAST}${ENTRY}`)],
  ["XML that ends within a tag", () => new Response(`<ListBucketResult>${LAST}</ListBucketRes`)],
  ["two roots", () => new Response(`<a>${LAST}</a><b>${LAST}</b>`)],
  ["an element without its end", () => xmlResponse(`${LAST}<a><b></a>`)],
  ["a root that ends within its tag", () => new Response("<ListBucketResult xmlns")],
  ["text after the root", () => new Response(`<a>${LAST}</a>b`)],
  ["entities that expand", () => new Response(ENTITY_BOMB)],
  ["deep nesting", () => xmlResponse(LAST + "<a>".repeat(5000) + "</a>".repeat(5000))],
  ["a page without IsTruncated", () => xmlResponse(ENTRY)],
  ["a page with another IsTruncated", () => xmlResponse("<IsTruncated>1</IsTruncated>")],
];

describe("an invalid ListObjectsV2 response is a transient error and not an empty listing", () => {
  const invalid =
    "cannot list bucket/: the response is not a valid ListObjectsV2 result; check the endpoint URL";
  test.each<Row>([
    ...INVALID,
    [
      "a size that is not a number",
      () => xmlResponse(`${LAST}<Contents><Key>${NAME}</Key><Size>5e9</Size></Contents>`),
    ],
  ])("%s", async (_, response) => {
    using fake = served(response);
    const error = await rejects(all(fake.backend), "unavailable", invalid);
    expect(error.transient).toBe(true);
  });

  test("a response over 8 MiB, which is not read to its end", async () => {
    let sent = 0;
    const entries = new TextEncoder().encode(ENTRY.repeat(1000));
    using fake = served(
      () =>
        new Response(
          new ReadableStream({
            start: (controller) =>
              controller.enqueue(new TextEncoder().encode(`<ListBucketResult>${LAST}`)),
            async pull(controller) {
              await Bun.sleep(0);
              sent += entries.length;
              if (sent < 2 ** 28) controller.enqueue(entries);
              else controller.close();
            },
          }),
        ),
    );
    const error = await rejects(all(fake.backend), "unavailable", invalid);
    expect(error.transient).toBe(true);
    expect(sent).toBeLessThan(2 ** 26);
  });

  test.each([
    ["a truncated page without a continuation token", ENTRY + MORE],
    [
      "a truncated page with an empty continuation token",
      `${MORE}<NextContinuationToken></NextContinuationToken>`,
    ],
    [
      "a truncated page with its own continuation token",
      `${ENTRY}${MORE}<NextContinuationToken>t</NextContinuationToken>`,
    ],
  ])("%s", async (_, page) => {
    using fake = served(() => xmlResponse(page));
    const text = "cannot list bucket/: the ListObjectsV2 result is truncated but has no new";
    expect((await rejects(all(fake.backend), "unavailable", text)).transient).toBe(true);
  });
});

describe("a listing", () => {
  /** Two pages; records their requests. */
  const twoPages = (token: string) => {
    const requests: Pick<Request, "method" | "url" | "headers">[] = [];
    const answer = (request: Request) => {
      const { method, url } = request;
      requests.push({ method, url, headers: new Headers(request.headers) });
      return new URL(request.url).searchParams.has("continuation-token")
        ? xmlResponse(LAST)
        : xmlResponse(`${ENTRY}${MORE}<NextContinuationToken>${token}</NextContinuationToken>`);
    };
    return { requests, answer };
  };

  test("of one blob on the first of two pages makes two requests", async () => {
    const { requests, answer } = twoPages("t");
    using fake = served(answer);
    expect(await all(fake.backend)).toEqual([{ name: NAME, size: 5 }]);
    expect(requests).toHaveLength(2);
  });

  /** Two pages of four blobs and no more; records the tokens of the requests. */
  const twoFullPages = () => {
    const tokens: (string | null)[] = [];
    const entry = (i: number) =>
      `<Contents><Key>${`${i}`.padStart(64, "0")}</Key><Size>5</Size></Contents>`;
    const answer = (request: Request) => {
      const token = new URL(request.url).searchParams.get("continuation-token");
      tokens.push(token);
      return token === null
        ? xmlResponse(
            `${[1, 2, 3, 4].map(entry).join("")}${MORE}<NextContinuationToken>t</NextContinuationToken>`,
          )
        : xmlResponse([5, 6, 7, 8].map(entry).join("") + LAST);
    };
    return { tokens, answer };
  };

  test("fetches a page while the second half of the one before is consumed", async () => {
    const { tokens, answer } = twoFullPages();
    using fake = served(answer);
    const blobs = fake.backend.list("")[Symbol.asyncIterator]();
    await blobs.next();
    await blobs.next();
    await Bun.sleep(50);
    expect(tokens).toEqual([null]);
    await blobs.next();
    for (let left = 100; tokens.length < 2 && left > 0; left--) await Bun.sleep(20);
    expect(tokens).toEqual([null, "t"]);
    let count = 3;
    while (!(await blobs.next()).done) count += 1;
    expect(count).toBe(8);
    expect(tokens).toEqual([null, "t"]);
  });

  test("that is left in the first half of a page makes no further request", async () => {
    const { tokens, answer } = twoFullPages();
    using fake = served(answer);
    let left = 2;
    for await (const _ of fake.backend.list("")) if (--left === 0) break;
    await Bun.sleep(50);
    expect(tokens).toEqual([null]);
  });

  test("reports the failure of a page after the blobs of the one before", async () => {
    const { answer } = twoFullPages();
    using fake = served((request) =>
      request.url.includes("continuation-token")
        ? errorResponse(403, "AccessDenied")
        : answer(request),
    );
    const names: string[] = [];
    const reading = (async () => {
      for await (const { name } of fake.backend.list("")) {
        names.push(name);
        await Bun.sleep(20);
      }
    })();
    await rejects(reading, "permission", "cannot list");
    expect(names).toHaveLength(4);
  });

  test("sends signed requests with these queries", async () => {
    const { requests, answer } = twoPages("t/+=&amp;&#x6B;&#107;&lt;");
    using fake = served(answer, { prefix: "a folder/+(é)'" });
    await Array.fromAsync(fake.backend.listAfter!("ab", OTHER));
    const query = {
      "list-type": "2",
      delimiter: "/",
      "encoding-type": "url",
      "max-keys": "1000",
      prefix: "a folder/+(é)'/ab",
      "start-after": `a folder/+(é)'/${OTHER}`,
    };
    expect(requests.map(({ url }) => Object.fromEntries(new URL(url).searchParams))).toEqual([
      query,
      { ...query, "continuation-token": "t/+=&kk<" },
    ]);
    for (const { method, url, headers } of requests) {
      expect(method).toBe("GET");
      expect(new URL(url).pathname).toBe("/bucket/");
      expect(headers.get("x-amz-content-sha256")).toBe(sha256(new Uint8Array()));
      expect(headers.get("authorization")).toMatch(
        /SignedHeaders=host;x-amz-content-sha256;x-amz-date/u,
      );
    }
  });

  test.each(["a&amp;b/", "a%26b/", "a&#38;b/", "<![CDATA[a%26b/]]>"])(
    "finds the key prefix a&b in the form %s",
    async (prefix) => {
      const entry = `<Contents><Key>${prefix}${NAME}</Key><Size>5</Size></Contents>`;
      using fake = served(() => xmlResponse(entry + LAST), { prefix: "a&b" });
      expect(await all(fake.backend)).toEqual([{ name: NAME, size: 5 }]);
    },
  );

  test("skips entries without a key, with foreign keys and outside the requested range", async () => {
    const keys = ["", "x", `${NAME}.txt`, `sub/${NAME}`, NAME.toUpperCase(), "%E0", OTHER, NAME];
    const entries = keys.map((key) => `<Contents><Key>${key}</Key><Size>5</Size></Contents>`);
    using fake = served(() => xmlResponse(`<Contents/>${entries.join("")}${LAST}`));
    expect(await Array.fromAsync(fake.backend.listAfter!("", NAME))).toEqual([
      { name: OTHER, size: 5 },
    ]);
    expect(await Array.fromAsync(fake.backend.list("ab"))).toEqual([{ name: NAME, size: 5 }]);
  });
});

test("XML is read as it was written, and not if it is cut off", () => {
  const name = fc.constantFrom("Contents", "Key", "a:b", "__proto__", "x-1", "é");
  const text = fc.string({ unit: "grapheme" }).map((given) => given.replaceAll(/[<\r]/gu, ""));
  const element = fc.memo((levels): fc.Arbitrary<XmlElement> => {
    const children = levels > 1 ? fc.array(element(), { maxLength: 4 }) : fc.constant([]);
    return fc.record({ name, text, children });
  });
  const written = ({ name, text, children }: XmlElement, empty: string): string => {
    const inside = text + children.map((child) => written(child, empty)).join("<!-- <a> -->");
    return inside === "" && empty !== ""
      ? `<${name}${empty}`
      : `<${name} a='>'>${inside}</${name} >`;
  };
  fc.assert(
    fc.property(element(5), fc.constantFrom("", "/>", " />"), (given, empty) => {
      const xml = `<?xml version="1.0"?>\n${written(given, empty)}`;
      expect(parseXml(`${xml}\n`)).toEqual(given);
      for (let end = 1; end < xml.length; end++)
        expect(parseXml(xml.slice(0, end))).toBeUndefined();
    }),
  );
});

test("XML text is decoded once, and unknown references stay", async () => {
  const xml = "<r><a>&amp;lt; &lt;&gt;&quot;&apos; &#65;&#x42; &nope; &#x110000; &</a></r>";
  const root = parseXml(xml.replace(" &<", "<"));
  expect(textOf(root!, "a")).toBe("&lt; <>\"' AB &nope; &#x110000;");
});

describe("a delete does not delete a blob if the list of its versions is invalid", () => {
  const stuck = `${MORE}<NextKeyMarker>${NAME}</NextKeyMarker><NextVersionIdMarker>v</NextVersionIdMarker>`;
  test.each<Row>([
    ...INVALID,
    ["a page without markers", () => xmlResponse(MORE, "ListVersionsResult")],
    ["a page with its own markers", () => xmlResponse(stuck, "ListVersionsResult")],
  ])("%s", async (_, response) => {
    const methods: string[] = [];
    using fake = served(({ method }) => {
      methods.push(method);
      return response();
    });
    const keys = { region: "r", keyId: "id", applicationKey: "key" };
    const backend = b2({ bucket: "bucket", endpoint: fake.endpoint, ...keys });
    const error = await rejects(backend.delete(NAME), "unavailable", "cannot find the versions");
    expect(error.message).toContain("ListObjectVersions result");
    expect(error.transient).toBe(true);
    expect(methods).not.toContain("DELETE");
  });

  test("an error response", async () => {
    using fake = served(() => errorResponse(403, "AccessDenied"));
    const keys = { region: "r", keyId: "id", applicationKey: "key" };
    const backend = b2({ bucket: "bucket", endpoint: fake.endpoint, ...keys });
    await rejects(backend.delete(NAME), "permission", "cannot find the versions");
  });
});
