import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { elementOf, elementsOf, sharedGateway } from "./running.ts";

setDefaultTimeout(120_000);

const CONTENT = "0123456789";
const digest = (name: string, text: string): string =>
  createHash(name).update(text).digest("base64");
const etagOf = (text: string): string => `"${createHash("md5").update(text).digest("hex")}"`;
const ETAG = etagOf(CONTENT);

const running = sharedGateway();

beforeAll(async () => {
  const { send } = running();
  const headers = {
    "content-type": "text/plain",
    "x-amz-meta-color": "blue",
    "x-amz-tagging": "a=1",
  };
  await send("PUT", "/main/k", { body: CONTENT, headers });
});

describe("PutObject", () => {
  test("answers with the ETag, and the checksum that was sent", async () => {
    const headers = {
      "content-md5": digest("md5", CONTENT),
      "x-amz-checksum-sha256": digest("sha256", CONTENT),
    };
    const answer = await running().send("PUT", "/main/put", { body: CONTENT, headers });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers).toMatchObject({
      etag: ETAG,
      "x-amz-checksum-sha256": digest("sha256", CONTENT),
      "x-amz-checksum-type": "FULL_OBJECT",
    });
  });

  test.each([
    ["BadDigest", { "content-md5": digest("md5", "other") }],
    ["InvalidDigest", { "content-md5": "AAAA" }],
    ["BadDigest", { "x-amz-checksum-sha256": digest("sha256", "other") }],
    ["BadDigest", { "x-amz-checksum-crc32": "AAAAAA==" }],
    ["InvalidRequest", { "x-amz-checksum-sha256": "AAAA" }],
    [
      "InvalidRequest",
      {
        "x-amz-checksum-sha256": digest("sha256", CONTENT),
        "x-amz-checksum-sha1": digest("sha1", CONTENT),
      },
    ],
    [
      "XAmzContentSHA256Mismatch",
      { "x-amz-content-sha256": createHash("sha256").update("other").digest("hex") },
    ],
    ["PreconditionFailed", { "if-match": '"other"' }],
    ["PreconditionFailed", { "if-none-match": "*" }],
    ["NotImplemented", { "if-none-match": ETAG }],
    ["MetadataTooLarge", { "x-amz-meta-a": "x".repeat(2048) }],
    ["InvalidStorageClass", { "x-amz-storage-class": "FAST" }],
    ["NotImplemented", { "x-amz-acl": "public-read" }],
    ["NotImplemented", { "x-amz-grant-read": "id=1" }],
    ["NotImplemented", { "x-amz-server-side-encryption": "aws:kms" }],
    ["NotImplemented", { "x-amz-object-lock-mode": "GOVERNANCE" }],
    ["InvalidRedirectLocation", { "x-amz-website-redirect-location": "elsewhere" }],
  ] as const)("is refused with %s for %o, and leaves what is there", async (code, headers) => {
    const { send } = running();
    await send("PUT", "/main/kept", { body: "before" });
    expect((await send("PUT", "/main/kept", { body: CONTENT, headers })).code).toBe(code);
    expect((await send("GET", "/main/kept")).text).toBe("before");
  });

  test("holds to its conditions", async () => {
    const { send } = running();
    const put = async (headers: Readonly<Record<string, string>>, body = CONTENT) =>
      send("PUT", "/main/conditional", { body, headers });
    expect((await put({ "if-match": ETAG })).code).toBe("NoSuchKey");
    expect((await put({ "if-none-match": "*" })).status).toBe(200);
    expect((await put({ "if-none-match": "*" })).status).toBe(412);
    expect((await put({ "if-match": ETAG }, "new")).status).toBe(200);
    expect((await put({ "if-match": ETAG })).status).toBe(412);
    expect((await put({ "if-match": etagOf("new") })).status).toBe(200);
  });

  test("is never taken for another operation", async () => {
    const { send } = running();
    for (const query of [
      "torrent",
      "legal-hold",
      "retention",
      "restore",
      "unknown",
      "tagging=&x=1",
    ]) {
      const { status, code } = await send("PUT", `/main/other?${query}`, { body: CONTENT });
      expect([query, status, code]).toEqual([query, 501, "NotImplemented"]);
    }
    expect((await send("HEAD", "/main/other")).status).toBe(404);
    expect((await send("PUT", "/none/k", { body: CONTENT })).code).toBe("NoSuchBucket");
    expect((await send("POST", "/main/other", { body: CONTENT })).code).toBe("NotImplemented");
  });
});

describe("CopyObject", () => {
  const copy = async (
    target: string,
    source: string,
    more: Readonly<Record<string, string>> = {},
  ) => running().send("PUT", target, { headers: { "x-amz-copy-source": source, ...more } });

  test.each(["/main/k", "main/k", "main%2Fk", "/main/k?versionId=null"])(
    "of %s has the content, headers and tags of the source",
    async (source) => {
      const answer = await copy("/main/copy", source);
      expect([answer.status, elementOf(answer.text, "ETag")]).toEqual([200, ETAG]);
      expect(elementOf(answer.text, "LastModified")).toBe("2026-01-01T00:00:00.000Z");
      const { headers, text } = await running().send("GET", "/main/copy");
      expect(text).toBe(CONTENT);
      expect(headers).toMatchObject({
        etag: ETAG,
        "content-type": "text/plain",
        "x-amz-meta-color": "blue",
        "x-amz-tagging-count": "1",
      });
    },
  );

  test("replaces headers and tags if it is told to", async () => {
    const { send } = running();
    const given = {
      "content-type": "text/css",
      "x-amz-meta-size": "1",
      "x-amz-tagging": "b=2&c=3",
    };
    await copy("/main/kept-headers", "/main/k", given);
    expect((await send("HEAD", "/main/kept-headers")).headers).toMatchObject({
      "content-type": "text/plain",
      "x-amz-tagging-count": "1",
    });
    await copy("/main/new-headers", "/main/k", {
      ...given,
      "x-amz-metadata-directive": "REPLACE",
      "x-amz-tagging-directive": "REPLACE",
    });
    const { headers } = await send("HEAD", "/main/new-headers");
    expect(headers).toMatchObject({
      "content-type": "text/css",
      "x-amz-meta-size": "1",
      "x-amz-tagging-count": "2",
    });
    expect(headers["x-amz-meta-color"]).toBeUndefined();
  });

  test("survives what happens to its source", async () => {
    const { send } = running();
    for (const body of [CONTENT, "x".repeat(2 ** 20 + 1)]) {
      await send("PUT", "/main/source", { body });
      expect((await copy("/main/survivor", "/main/source")).status).toBe(200);
      await send("DELETE", "/main/source");
      expect((await send("GET", "/main/survivor")).text).toBe(body);
    }
  });

  test("onto itself has to change something", async () => {
    const { send } = running();
    await send("PUT", "/main/self", { body: CONTENT });
    expect((await copy("/main/self", "/main/self")).code).toBe("InvalidRequest");
    const changed = { "x-amz-metadata-directive": "REPLACE", "x-amz-meta-a": "1" };
    expect((await copy("/main/self", "/main/self", changed)).status).toBe(200);
    const { headers, text } = await send("GET", "/main/self");
    expect([headers["x-amz-meta-a"], text]).toEqual(["1", CONTENT]);
  });

  test.each([
    ["NoSuchKey", "/main/none", {}],
    ["NoSuchBucket", "/none/k", {}],
    ["InvalidArgument", "/main/k?versionId=1", {}],
    ["InvalidArgument", "/main/k", { "x-amz-metadata-directive": "MERGE" }],
    ["InvalidArgument", "/main/k", { "x-amz-tagging-directive": "MERGE" }],
    ["PreconditionFailed", "/main/k", { "x-amz-copy-source-if-match": '"other"' }],
    ["PreconditionFailed", "/main/k", { "x-amz-copy-source-if-none-match": ETAG }],
    [
      "PreconditionFailed",
      "/main/k",
      { "x-amz-copy-source-if-unmodified-since": "Wed, 31 Dec 2025 00:00:00 GMT" },
    ],
    [
      "PreconditionFailed",
      "/main/k",
      { "x-amz-copy-source-if-modified-since": "Thu, 01 Jan 2026 00:00:00 GMT" },
    ],
    ["NotImplemented", "/main/k", { "x-amz-copy-source-server-side-encryption-customer-key": "x" }],
    ["PreconditionFailed", "/main/k", { "if-none-match": "*" }],
  ] as const)("is refused with %s of %s with %o", async (code, source, headers) => {
    const { send } = running();
    await send("PUT", "/main/target", { body: "before" });
    expect((await copy("/main/target", source, headers)).code).toBe(code);
    expect((await send("GET", "/main/target")).text).toBe("before");
  });
});

describe("DeleteObject", () => {
  test("answers alike whether there was an object or not", async () => {
    const { send } = running();
    await send("PUT", "/main/gone", { body: CONTENT });
    for (let times = 0; times < 2; times += 1) {
      const answer = await send("DELETE", "/main/gone");
      expect([answer.status, answer.text]).toEqual([204, ""]);
      expect((await send("GET", "/main/gone")).code).toBe("NoSuchKey");
    }
    expect((await send("DELETE", "/none/k")).code).toBe("NoSuchBucket");
  });

  test.each([
    ["if-match", '"other"', ETAG],
    ["x-amz-if-match-size", "9", "10"],
    [
      "x-amz-if-match-last-modified-time",
      "Wed, 31 Dec 2025 00:00:00 GMT",
      "Thu, 01 Jan 2026 00:00:00 GMT",
    ],
  ])("holds to %s", async (name, wrong, right) => {
    const { send } = running();
    await send("PUT", "/main/held", { body: CONTENT });
    expect((await send("DELETE", "/main/held", { headers: { [name]: wrong } })).code).toBe(
      "PreconditionFailed",
    );
    expect((await send("DELETE", "/main/held", { headers: { [name]: right } })).status).toBe(204);
    expect((await send("HEAD", "/main/held")).status).toBe(404);
  });
});

describe("DeleteObjects", () => {
  const remove = async (body: string, target = "/main?delete") =>
    running().send("POST", target, { body, headers: { "content-md5": digest("md5", body) } });

  test("deletes each, and says so unless it is told not to", async () => {
    const { send } = running();
    const entries = ["a", "b", "never"]
      .map((key) => `<Object><Key>x/${key}</Key></Object>`)
      .join("");
    for (const quiet of ["false", "true"]) {
      for (const key of ["a", "b"]) await send("PUT", `/main/x/${key}`, { body: CONTENT });
      const { status, text } = await remove(`<Delete><Quiet>${quiet}</Quiet>${entries}</Delete>`);
      expect(status).toBe(200);
      expect(elementsOf(text, "Key")).toEqual(quiet === "true" ? [] : ["x/a", "x/b", "x/never"]);
      expect((await send("GET", "/main?prefix=x%2F&list-type=2")).text).toContain("<KeyCount>0<");
    }
  });

  test("has an outcome for each", async () => {
    const { send } = running();
    for (const key of ["right", "wrong"]) await send("PUT", `/main/${key}`, { body: CONTENT });
    const long = "k".repeat(1025);
    const { text } = await remove(
      `<Delete><Object><Key>right</Key><ETag>${ETAG}</ETag></Object>` +
        `<Object><Key>wrong</Key><ETag>"other"</ETag></Object>` +
        "<Object><Key>wrong</Key><Size>9</Size></Object>" +
        "<Object><Key>wrong</Key><LastModifiedTime>Wed, 31 Dec 2025 00:00:00 GMT</LastModifiedTime></Object>" +
        `<Object><Key>${long}</Key></Object>` +
        `<Object><Key>wrong</Key><VersionId>1</VersionId></Object></Delete>`,
    );
    expect(elementsOf(text, "Key")).toEqual(["right", "wrong", "wrong", "wrong", long, "wrong"]);
    expect(elementsOf(text, "Code")).toEqual([
      "PreconditionFailed",
      "PreconditionFailed",
      "PreconditionFailed",
      "KeyTooLongError",
      "NoSuchVersion",
    ]);
    expect((await send("HEAD", "/main/wrong")).status).toBe(200);
    expect((await send("HEAD", "/main/right")).status).toBe(404);
  });

  test("refuses what is not its document", async () => {
    const entry = "<Object><Key>k</Key></Object>";
    const named = `<Delete>${entry.repeat(1000)}</Delete>`;
    expect((await remove(named)).status).toBe(200);
    await running().send("PUT", "/main/k", { body: CONTENT });
    for (const body of [
      `<Delete>${entry.repeat(1001)}</Delete>`,
      "<Delete></Delete>",
      "<Delete><Object></Object></Delete>",
      "<Other></Other>",
      `<!DOCTYPE d [<!ENTITY e "k">]><Delete><Object><Key>&e;</Key></Object></Delete>`,
      "",
    ]) {
      expect((await remove(body)).code).toBe("MalformedXML");
    }
    const body = `<Delete>${entry}</Delete>`;
    expect((await running().send("POST", "/main?delete", { body })).code).toBe("InvalidRequest");
    expect((await remove(body, "/none?delete")).code).toBe("NoSuchBucket");
    expect((await running().send("HEAD", "/main/k")).status).toBe(200);
  });
});
