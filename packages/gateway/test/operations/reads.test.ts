import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { elementOf, elementsOf, sharedGateway, startGateway } from "./running.ts";

setDefaultTimeout(120_000);

const CONTENT = "0123456789";
const ETAG = `"${createHash("md5").update(CONTENT).digest("hex")}"`;
/** The time of the tests' clock. */
const TIME = "Thu, 01 Jan 2026 00:00:00 GMT";
const EARLIER = "Wed, 31 Dec 2025 23:59:59 GMT";
const LATER = "Thu, 01 Jan 2026 00:00:01 GMT";

const running = sharedGateway();

beforeAll(async () => {
  const { send } = running();
  const headers = {
    "content-type": "text/plain",
    "cache-control": "no-cache",
    "content-encoding": "aws-chunked,gzip",
    "x-amz-meta-color": "blue",
    "x-amz-tagging": "a=1&b=2",
    "x-amz-checksum-sha1": createHash("sha1").update(CONTENT).digest("base64"),
  };
  expect((await send("PUT", "/main/k", { body: CONTENT, headers })).status).toBe(200);
  expect((await send("PUT", "/main/empty", { body: "" })).status).toBe(200);
});

describe.each(["GET", "HEAD"])("%s", (method) => {
  const text = (content: string): string => (method === "GET" ? content : "");

  test("returns the object with all that was stored with it", async () => {
    const answer = await running().send(method, "/main/k", {
      headers: { "x-amz-checksum-mode": "ENABLED" },
    });
    expect([answer.status, answer.text]).toEqual([200, text(CONTENT)]);
    expect(answer.headers).toMatchObject({
      "accept-ranges": "bytes",
      "cache-control": "no-cache",
      "content-encoding": "gzip",
      "content-length": "10",
      "content-type": "text/plain",
      etag: ETAG,
      "last-modified": TIME,
      "x-amz-checksum-sha1": createHash("sha1").update(CONTENT).digest("base64"),
      "x-amz-checksum-type": "FULL_OBJECT",
      "x-amz-meta-color": "blue",
      "x-amz-tagging-count": "2",
    });
  });

  test.each([
    ["bytes=0-3", "0123", "bytes 0-3/10"],
    ["bytes=4-", "456789", "bytes 4-9/10"],
    ["bytes=-3", "789", "bytes 7-9/10"],
    ["bytes=-99", CONTENT, "bytes 0-9/10"],
    ["bytes=9-999", "9", "bytes 9-9/10"],
  ])("of the range %s returns that part", async (range, part, contentRange) => {
    const answer = await running().send(method, "/main/k", { headers: { range } });
    expect([answer.status, answer.text]).toEqual([206, text(part)]);
    expect(answer.headers["content-range"]).toBe(contentRange);
    expect(answer.headers["content-length"]).toBe(`${part.length}`);
  });

  test.each(["bytes=3-1", "bytes=0-1,4-5", "bytes=a-b", "lines=0-1", "bytes=-"])(
    "of %s, which is no single range of bytes, returns all",
    async (range) => {
      const answer = await running().send(method, "/main/k", { headers: { range } });
      expect([answer.status, answer.text]).toEqual([200, text(CONTENT)]);
    },
  );

  test.each(["bytes=10-", "bytes=10-20", "bytes=-0"])(
    "of %s, which has no byte, is refused with the size",
    async (range) => {
      const answer = await running().send(method, "/main/k", { headers: { range } });
      expect([answer.status, answer.headers["content-range"]]).toEqual([416, "bytes */10"]);
      if (method === "GET") expect(answer.code).toBe("InvalidRange");
    },
  );

  test.each([
    [200, { "if-match": ETAG }],
    [200, { "if-match": `"other", ${ETAG}` }],
    [200, { "if-match": "*" }],
    [412, { "if-match": '"other"' }],
    [304, { "if-none-match": ETAG }],
    [304, { "if-none-match": `W/${ETAG}` }],
    [200, { "if-none-match": '"other"' }],
    [304, { "if-modified-since": TIME }],
    [304, { "if-modified-since": LATER }],
    [200, { "if-modified-since": EARLIER }],
    [200, { "if-modified-since": "no date" }],
    [200, { "if-unmodified-since": TIME }],
    [412, { "if-unmodified-since": EARLIER }],
    // An ETag's condition takes the place of the date's.
    [200, { "if-match": ETAG, "if-unmodified-since": EARLIER }],
    [304, { "if-none-match": ETAG, "if-modified-since": EARLIER }],
    [200, { "if-none-match": '"other"', "if-modified-since": LATER }],
    [412, { "if-match": '"other"', "if-none-match": ETAG }],
    [206, { "if-range": ETAG, range: "bytes=0-1" }],
    [200, { "if-range": '"other"', range: "bytes=0-1" }],
    [206, { "if-range": TIME, range: "bytes=0-1" }],
    [200, { "if-range": EARLIER, range: "bytes=0-1" }],
    // RFC 9110: a failed precondition comes before the range.
    [304, { "if-none-match": ETAG, range: "bytes=99-" }],
  ] as const)("answers %i to %o", async (status, headers) => {
    const answer = await running().send(method, "/main/k", { headers });
    expect(answer.status).toBe(status);
    if (status === 304) expect([answer.headers["etag"], answer.text]).toEqual([ETAG, ""]);
    if (status === 412 && method === "GET") expect(answer.code).toBe("PreconditionFailed");
  });

  test("of an object without content returns none", async () => {
    const { send } = running();
    const answer = await send(method, "/main/empty");
    expect([answer.status, answer.text, answer.headers["content-length"]]).toEqual([200, "", "0"]);
    expect(answer.headers["content-type"]).toBe("binary/octet-stream");
    expect((await send(method, "/main/empty", { headers: { range: "bytes=0-" } })).status).toBe(
      416,
    );
  });

  test.each([
    ["/main/none", 404, "NoSuchKey"],
    ["/none/k", 404, "NoSuchBucket"],
    ["/main/k?versionId=1", 400, "InvalidArgument"],
    ["/main/k?partNumber=2", 416, "InvalidPartNumber"],
    ["/main/k?partNumber=0", 400, "InvalidArgument"],
  ])("of %s answers %i", async (target, status, code) => {
    const answer = await running().send(method, target);
    expect([answer.status, answer.code]).toEqual([status, method === "GET" ? code : undefined]);
  });

  test("has the version null, and the object as its only part", async () => {
    const { send } = running();
    expect((await send(method, "/main/k?versionId=null")).status).toBe(200);
    const part = await send(method, "/main/k?partNumber=1");
    expect([part.status, part.text, part.headers["content-range"]]).toEqual([
      206,
      text(CONTENT),
      "bytes 0-9/10",
    ]);
  });

  test("returns the headers that the URL asks for", async () => {
    const target =
      "/main/k?response-content-type=text%2Fcss&response-content-disposition=attachment%3B%20filename%3D%22a.css%22" +
      "&response-cache-control=x&response-expires=y&response-content-language=de&response-content-encoding=br";
    expect((await running().send(method, target)).headers).toMatchObject({
      "content-type": "text/css",
      "content-disposition": 'attachment; filename="a.css"',
      "cache-control": "x",
      expires: "y",
      "content-language": "de",
      "content-encoding": "br",
    });
  });
});

describe("the tags of an object", () => {
  const put = async (target: string, tags: readonly (readonly [string, string])[]) =>
    running().send("PUT", target, {
      body: `<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>${tags
        .map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`)
        .join("")}</TagSet></Tagging>`,
    });

  test("are read, replaced and deleted, and change nothing else", async () => {
    const { send } = running();
    await send("PUT", "/main/tagged", {
      body: CONTENT,
      headers: { "x-amz-tagging": "k%20=v%2B&e=" },
    });
    const tags = async (): Promise<readonly string[]> => {
      const { text } = await send("GET", "/main/tagged?tagging");
      return [...elementsOf(text, "Key"), ...elementsOf(text, "Value")];
    };
    expect(await tags()).toEqual(["k ", "e", "v+", ""]);
    expect((await put("/main/tagged?tagging", [["ü", "2"]])).status).toBe(200);
    expect(await tags()).toEqual(["ü", "2"]);
    expect((await send("DELETE", "/main/tagged?tagging")).status).toBe(204);
    expect(await tags()).toEqual([]);
    const { headers } = await send("HEAD", "/main/tagged");
    expect([headers["etag"], headers["x-amz-tagging-count"]]).toEqual([ETAG, undefined]);
  });

  test("are at most 10, different, and of signs that S3 allows", async () => {
    const many = Array.from({ length: 11 }, (_, index) => [`k${index}`, ""] as const);
    expect((await put("/main/k?tagging", many)).code).toBe("BadRequest");
    expect((await put("/main/k?tagging", many.slice(0, 10))).status).toBe(200);
    for (const tags of [
      [
        ["a", "1"],
        ["a", "2"],
      ],
      [["", "1"]],
      [["a".repeat(129), "1"]],
      [["a", "1".repeat(257)]],
      [["a", "?"]],
    ] as const) {
      expect((await put("/main/k?tagging", tags)).code).toBe("InvalidTag");
    }
    expect((await put("/main/none?tagging", [])).code).toBe("NoSuchKey");
    expect((await running().send("PUT", "/main/k?tagging", { body: "<Tagging>" })).code).toBe(
      "MalformedXML",
    );
  });
});

describe("GetObjectAttributes", () => {
  const ask = async (target: string, names: string) =>
    running().send("GET", target, { headers: { "x-amz-object-attributes": names } });

  test("returns what is asked for, and nothing else", async () => {
    const all = await ask(
      "/main/k?attributes",
      "ETag,Checksum,ObjectParts,StorageClass,ObjectSize",
    );
    expect(all.headers["last-modified"]).toBe(TIME);
    expect(elementOf(all.text, "ETag")).toBe(ETAG.slice(1, -1));
    expect(elementOf(all.text, "ChecksumSHA1")).toBe(
      createHash("sha1").update(CONTENT).digest("base64"),
    );
    expect(elementOf(all.text, "ObjectSize")).toBe("10");
    expect(elementOf(all.text, "StorageClass")).toBe("STANDARD");
    expect(all.text).not.toContain("ObjectParts");
    const size = await ask("/main/k?attributes", "ObjectSize");
    expect(size.text).not.toContain("ETag");
  });

  test("refuses what is no attribute", async () => {
    expect((await ask("/main/k?attributes", "Size")).code).toBe("InvalidArgument");
    expect((await ask("/main/none?attributes", "ETag")).code).toBe("NoSuchKey");
    expect((await running().send("GET", "/main/k?attributes")).code).toBe("InvalidRequest");
  });
});

test("a fault at the end of a short object is an error, and nothing of it is sent", async () => {
  await using faulty = await startGateway();
  const { objects } = faulty.rig;
  await faulty.send("PUT", "/main/k", { body: CONTENT });
  const { readObject } = objects;
  Object.assign(objects, {
    async *readObject(...given) {
      yield* readObject(...given);
      throw new Error("the hash of the file is another one");
    },
  } satisfies Partial<typeof objects>);
  const answer = await faulty.send("GET", "/main/k");
  expect([answer.status, answer.code]).toEqual([500, "InternalError"]);
  expect(answer.text).not.toContain(CONTENT);
});
