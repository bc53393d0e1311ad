import { describe, expect, test } from "bun:test";
import { CatalogError } from "../../src/catalog/catalog.ts";
import { S3Error } from "../../src/errors.ts";
import { s3ErrorOf } from "../../src/faults.ts";
import { checkRead, deleteCondition, writeCondition } from "../../src/operations/conditions.ts";
import { parseCopyRange, parseRange } from "../../src/operations/object/ranges.ts";
import { route } from "../../src/operations/route.ts";
import { slowAnswer } from "../../src/operations/slow-answer.ts";

type Level = Parameters<typeof route>[0]["level"];

function routed(
  level: Level,
  method: string,
  query = "",
  headers: Readonly<Record<string, string>> = {},
): string {
  try {
    const names = new Map(new URLSearchParams(query));
    return route({ level, method, query: names, headers: new Map(Object.entries(headers)) }).name;
  } catch (error) {
    if (error instanceof S3Error) return error.code;
    throw error;
  }
}

describe("a request is routed", () => {
  const copy = { "x-amz-copy-source": "/b/k" };
  test.each<[Level, string, string, string, Record<string, string>?]>([
    ["service", "GET", "", "ListBuckets"],
    ["bucket", "GET", "", "ListObjects"],
    ["bucket", "GET", "list-type=2&prefix=a&x-id=ListObjectsV2", "ListObjectsV2"],
    ["bucket", "GET", "versions&prefix=a", "ListObjectVersions"],
    ["bucket", "GET", "uploads", "ListMultipartUploads"],
    ["bucket", "GET", "location", "GetBucketLocation"],
    ["bucket", "PUT", "", "CreateBucket"],
    ["bucket", "POST", "delete", "DeleteObjects"],
    ["object", "GET", "partNumber=1&response-expires=x", "GetObject"],
    ["object", "GET", "uploadId=x", "ListParts"],
    ["object", "GET", "attributes", "GetObjectAttributes"],
    ["object", "GET", "cache=1", "GetObject"],
    ["object", "PUT", "", "PutObject"],
    ["object", "PUT", "", "CopyObject", copy],
    ["object", "PUT", "partNumber=1&uploadId=x", "UploadPart"],
    ["object", "PUT", "partNumber=1&uploadId=x", "UploadPartCopy", copy],
    ["object", "PUT", "tagging", "PutObjectTagging"],
    ["object", "POST", "uploads", "CreateMultipartUpload"],
    ["object", "POST", "uploadId=x", "CompleteMultipartUpload"],
    ["object", "DELETE", "uploadId=x", "AbortMultipartUpload"],
  ])("%s %s ?%s to %s", (level, method, query, name, headers = {}) => {
    expect(routed(level, method, query, headers)).toBe(name);
  });

  test.each<[Level, string, string, string]>([
    ["object", "PUT", "retention", "NotImplemented"],
    ["object", "PUT", "legal-hold", "NotImplemented"],
    ["object", "PUT", "renameObject", "NotImplemented"],
    ["object", "PUT", "anything", "NotImplemented"],
    ["object", "PUT", "anything=1", "NotImplemented"],
    ["object", "PUT", "partNumber=1", "NotImplemented"],
    ["object", "PUT", "uploadId=1", "NotImplemented"],
    ["object", "PUT", "acl&tagging", "NotImplemented"],
    ["object", "DELETE", "retention", "NotImplemented"],
    ["object", "GET", "torrent", "NotImplemented"],
    ["object", "GET", "anything", "NotImplemented"],
    ["object", "POST", "restore", "NotImplemented"],
    ["object", "POST", "select&select-type=2", "NotImplemented"],
    ["bucket", "PUT", "versioning", "NotImplemented"],
    ["bucket", "PUT", "policy", "NotImplemented"],
    ["bucket", "GET", "website", "NotImplemented"],
    ["bucket", "DELETE", "website", "NotImplemented"],
    ["bucket", "POST", "", "NotImplemented"],
    ["object", "PATCH", "", "MethodNotAllowed"],
    ["service", "PUT", "", "MethodNotAllowed"],
  ])("%s %s ?%s to no other operation: %s", (level, method, query, code) => {
    expect(routed(level, method, query)).toBe(code);
  });
});

describe("a range", () => {
  test.each([
    [undefined, undefined],
    ["bytes=0-4", [0, 5]],
    ["bytes=5-", [5, 10]],
    ["bytes=8-100", [8, 10]],
    ["bytes=-3", [7, 10]],
    ["bytes=-30", [0, 10]],
    ["bytes=4-2", undefined],
    ["bytes=0-1,3-4", undefined],
    ["lines=0-1", undefined],
    ["bytes= -1", undefined],
    ["bytes=0 -1", undefined],
    ["bytes=00-01", [0, 2]],
    ["bytes=-", undefined],
  ])("%s of 10 bytes", (header, expected) => {
    const range = parseRange(header, 10);
    expect(range && [range.start, range.end]).toEqual(expected as [number, number] | undefined);
  });

  test.each([
    ["bytes=10-", 10],
    ["bytes=-0", 10],
    ["bytes=0-", 0],
    ["bytes=-0", 0],
  ])("%s of %d bytes cannot be satisfied", (header, size) => {
    expect(() => parseRange(header, size)).toThrow(
      expect.objectContaining({ code: "InvalidRange" }),
    );
  });

  test("of the last bytes of nothing is all of it", () => {
    expect(parseRange("bytes=-5", 0)).toBeUndefined();
  });

  test("of a copy must be within the source", () => {
    expect(parseCopyRange("bytes=0-9", 10)).toEqual({ start: 0, end: 10 });
    for (const header of ["bytes=0-10", "bytes=5-4", "bytes=0-", "0-1", "bytes=-1"]) {
      expect(() => parseCopyRange(header, 10)).toThrow(
        expect.objectContaining({ code: "InvalidArgument" }),
      );
    }
  });
});

describe("conditions of reads", () => {
  const time = Date.parse("2026-11-23T00:00:00.500Z");
  const object = { etag: "abc", time };
  const [before, same, later] = [
    "Sun, 22 Nov 2026 00:00:00 GMT",
    "Mon, 23 Nov 2026 00:00:00 GMT",
    "Tue, 24 Nov 2026 00:00:00 GMT",
  ];
  test.each<[Record<string, string>, ReturnType<typeof checkRead>]>([
    [{}, "ok"],
    [{ "if-match": '"abc"' }, "ok"],
    [{ "if-match": "abc" }, "ok"],
    [{ "if-match": '"x", W/"abc"' }, "ok"],
    [{ "if-match": '"x"' }, "failed"],
    [{ "if-none-match": '"abc"' }, "not-modified"],
    [{ "if-none-match": "*" }, "not-modified"],
    [{ "if-none-match": '"x"' }, "ok"],
    [{ "if-modified-since": before }, "ok"],
    [{ "if-modified-since": same }, "not-modified"],
    [{ "if-unmodified-since": same }, "ok"],
    [{ "if-unmodified-since": before }, "failed"],
    [{ "if-match": '"abc"', "if-unmodified-since": before }, "ok"],
    [{ "if-none-match": '"x"', "if-modified-since": later }, "ok"],
    [{ "if-modified-since": "yesterday" }, "ok"],
  ])("%j", (headers, expected) => {
    expect(checkRead(new Map(Object.entries(headers)), object)).toBe(expected);
  });
});

test("conditions of writes", () => {
  const of = (headers: Record<string, string>) => writeCondition(new Map(Object.entries(headers)));
  expect(of({})).toBeUndefined();
  expect(of({ "if-none-match": "*" })).toEqual({ ifNoneMatch: ["*"] });
  expect(of({ "if-match": '"a"' })).toEqual({ ifMatch: ["a"] });
  expect(() => of({ "if-none-match": '"a"' })).toThrow();
  expect(() => of({ "if-none-match": "*", "if-match": '"a"' })).toThrow();
  expect(deleteCondition(new Map([["x-amz-if-match-size", "5"]]))).toEqual({ ifSize: 5 });
  expect(() => deleteCondition(new Map([["x-amz-if-match-size", "x"]]))).toThrow();
});

describe("an answer that takes long", () => {
  const reported: unknown[] = [];
  const report = (error: unknown): S3Error => {
    reported.push(error);
    return s3ErrorOf(error);
  };
  const context = { rawPath: "/b/k", requestId: "ID", report };
  const wait = async <T>(ms: number, value: () => T): Promise<T> => {
    await Bun.sleep(ms);
    return value();
  };
  const document = {
    status: 200,
    headers: {},
    body: '<?xml version="1.0" encoding="UTF-8"?>\n<A/>',
  };

  async function textOf(answer: Awaited<ReturnType<typeof slowAnswer>>): Promise<string> {
    if (typeof answer.body === "string") return answer.body;
    let text = "";
    const pieces = answer.body as AsyncIterable<Uint8Array>;
    for await (const piece of pieces) text += Buffer.from(piece).toString();
    return text;
  }

  test("is the answer itself if it is soon there, also of an error", async () => {
    expect(
      await slowAnswer(
        wait(1, () => document),
        context,
        1000,
      ),
    ).toBe(document);
    const failing = wait(1, (): never => {
      throw new S3Error("InvalidPart");
    });
    const outcome = await slowAnswer(failing, context, 1000).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: "InvalidPart" });
  });

  test("is white space, and then a document that can be parsed", async () => {
    const answer = await slowAnswer(
      wait(100, () => document),
      context,
      20,
    );
    expect(await textOf(answer)).toMatch(/^<\?xml[^>]*\?>\n +<A\/>$/u);
  });

  test("may be an error in the end", async () => {
    const failing = wait(100, (): never => {
      throw new S3Error("InvalidPart");
    });
    const answer = await slowAnswer(failing, context, 20);
    expect(answer.status).toBe(200);
    expect(await textOf(answer)).toMatch(/^<\?xml[^>]*\?>\n +<Error><Code>InvalidPart<\/Code>/u);
  });

  test("tells the log what went wrong, and the client whether to try again", async () => {
    const cause = new CatalogError("unavailable", "the database is down");
    const failing = wait(100, (): never => {
      throw cause;
    });
    const text = await textOf(await slowAnswer(failing, context, 20));
    expect(text).toContain("<Code>ServiceUnavailable</Code>");
    expect(text).not.toContain("database");
    expect(reported.at(-1)).toBe(cause);
  });
});
