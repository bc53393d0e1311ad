import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { elementOf, elementsOf, type Received, type Running, sharedGateway } from "./running.ts";

setDefaultTimeout(120_000);

const running = sharedGateway();
const send: Running["send"] = async (...given) => running().send(...given);

const MIB = 2 ** 20;
/** Parts of an object: two of the least size, and a short one. */
const PARTS = ["a".repeat(5 * MIB), "b".repeat(5 * MIB), "the end"];
const md5 = (text: string): Buffer => createHash("md5").update(text).digest();
const sha256 = (text: string | Uint8Array): Buffer => createHash("sha256").update(text).digest();

async function create(
  key: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { status, text } = await send("POST", `/main/${key}?uploads`, { headers });
  expect([status, elementOf(text, "Key")]).toEqual([200, key]);
  return elementOf(text, "UploadId")!;
}

async function upload(
  target: string,
  number: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const [path, id] = target.split("?uploadId=");
  const answer = await send("PUT", `${path}?partNumber=${number}&uploadId=${id}`, {
    body,
    headers,
  });
  expect(answer.status).toBe(200);
  return String(answer.headers["etag"]);
}

type Listed = readonly (readonly [number: number, etag: string, more?: string])[];

async function complete(
  target: string,
  parts: Listed,
  headers: Readonly<Record<string, string>> = {},
): Promise<Received> {
  const listed = parts.map(
    ([number, etag, more = ""]) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag>${more}</Part>`,
  );
  const body = `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`;
  return send("POST", target, { body, headers });
}

/** An upload with all parts, numbered 2, 5 and 9. */
async function uploaded(key: string): Promise<{ target: string; parts: Listed }> {
  const target = `/main/${key}?uploadId=${await create(key)}`;
  const parts: (readonly [number, string])[] = [];
  for (const [index, body] of PARTS.entries()) {
    const number = [2, 5, 9][index]!;
    parts.push([number, await upload(target, number, body)]);
  }
  return { target, parts };
}

describe("a multipart upload", () => {
  test("becomes an object that can be read by parts and by ranges", async () => {
    const { target, parts } = await uploaded("object");
    expect((await send("GET", "/main/object")).code).toBe("NoSuchKey");
    const done = await complete(target, parts);
    const etag = `"${createHash("md5")
      .update(Buffer.concat(PARTS.map(md5)))
      .digest("hex")}-3"`;
    expect([done.status, elementOf(done.text, "ETag"), elementOf(done.text, "Key")]).toEqual([
      200,
      etag,
      "object",
    ]);
    const head = await send("HEAD", "/main/object");
    expect([head.headers["etag"], head.headers["content-length"]]).toEqual([
      etag,
      `${10 * MIB + 7}`,
    ]);
    const range = `bytes=${5 * MIB - 2}-${5 * MIB + 1}`;
    expect((await send("GET", "/main/object", { headers: { range } })).text).toBe("aabb");
    expect((await send("GET", "/main/object", { headers: { range: "bytes=-9" } })).text).toBe(
      "bbthe end",
    );
    const part = await send("GET", "/main/object?partNumber=3");
    expect([part.status, part.text, part.headers["x-amz-mp-parts-count"]]).toEqual([
      206,
      "the end",
      "3",
    ]);
    expect(part.headers["content-range"]).toBe(`bytes ${10 * MIB}-${10 * MIB + 6}/${10 * MIB + 7}`);
    expect((await send("GET", "/main/object?partNumber=4")).code).toBe("InvalidPartNumber");
    expect((await send("GET", "/main?prefix=object")).text).toContain(etag.slice(1, -1));
    const sha = createHash("sha256").update((await send("GET", "/main/object")).text);
    expect(sha.digest("hex")).toBe(sha256(PARTS.join("")).toString("hex"));
  });

  test("is completed once, and the answer can be asked for again", async () => {
    const { target, parts } = await uploaded("again");
    const [first, second] = [await complete(target, parts), await complete(target, parts)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(elementOf(second.text, "ETag")).toBe(elementOf(first.text, "ETag"));
    expect((await send("DELETE", target)).code).toBe("NoSuchUpload");
    expect((await send("GET", target)).code).toBe("NoSuchUpload");
    expect((await send("HEAD", "/main/again")).status).toBe(200);
  });

  test("can leave parts out, and have them replaced", async () => {
    const { target, parts } = await uploaded("fewer");
    const replaced = await upload(target, 9, "another end");
    expect((await complete(target, parts)).code).toBe("InvalidPart");
    expect((await complete(target, [parts[0]!, [9, replaced]])).status).toBe(200);
    const range = { range: "bytes=-12" };
    expect((await send("GET", "/main/fewer", { headers: range })).text).toBe("aanother end");
  });

  test.each([
    ["InvalidPartOrder", (parts: Listed) => parts.toReversed()],
    ["InvalidPartOrder", (parts: Listed) => [parts[0]!, ...parts]],
    ["InvalidPart", (parts: Listed) => [...parts, [10, '"x"'] as const]],
    ["InvalidPart", ([first, ...rest]: Listed) => [[first![0], '"x"'] as const, ...rest]],
    ["MalformedXML", () => []],
    ["InvalidArgument", (parts: Listed) => [[0, '"x"'] as const, ...parts]],
    ["InvalidArgument", (parts: Listed) => [...parts, [10_001, '"x"'] as const]],
  ] as const)("is refused with %s, and can be completed afterwards", async (code, wrong) => {
    const target = `/main/order?uploadId=${await create("order")}`;
    const parts: Listed = [
      [1, await upload(target, 1, PARTS[0]!)],
      [2, await upload(target, 2, "end")],
    ];
    expect((await complete(target, wrong(parts))).code).toBe(code);
    expect((await complete(target, parts)).status).toBe(200);
  });

  test("has parts of 5 MiB, but for the last", async () => {
    const target = `/main/small?uploadId=${await create("small")}`;
    const [first, last] = [await upload(target, 1, "short"), await upload(target, 2, "end")];
    expect(
      (
        await complete(target, [
          [1, first],
          [2, last],
        ])
      ).code,
    ).toBe("EntityTooSmall");
    expect((await complete(target, [[1, first]])).status).toBe(200);
  });

  test("holds to the conditions of its completion", async () => {
    const { target, parts } = await uploaded("conditional");
    await send("PUT", "/main/conditional", { body: "before" });
    const none = { "if-none-match": "*" };
    expect((await complete(target, parts, none)).code).toBe("PreconditionFailed");
    expect((await send("GET", "/main/conditional")).text).toBe("before");
    const size = { "x-amz-mp-object-size": "1" };
    expect((await complete(target, parts, size)).code).toBe("InvalidRequest");
    const match = { "if-match": `"${md5("before").toString("hex")}"` };
    expect((await complete(target, parts, match)).status).toBe(200);
  });

  test("has the checksum of its parts' checksums", async () => {
    const named = { "x-amz-checksum-algorithm": "SHA256" };
    const target = `/main/composite?uploadId=${await create("composite", named)}`;
    const sums = PARTS.map((part) => sha256(part));
    const parts: (readonly [number, string, string])[] = [];
    for (const [index, body] of PARTS.entries()) {
      const sum = sums[index]!.toString("base64");
      const etag = await upload(target, index + 1, body, { "x-amz-checksum-sha256": sum });
      parts.push([index + 1, etag, `<ChecksumSHA256>${sum}</ChecksumSHA256>`]);
    }
    const listed = await send("GET", target);
    expect(elementsOf(listed.text, "ChecksumSHA256")).toEqual(
      sums.map((sum) => sum.toString("base64")),
    );
    const done = await complete(target, parts);
    const composite = `${sha256(Buffer.concat(sums)).toString("base64")}-3`;
    expect(elementOf(done.text, "ChecksumSHA256")).toBe(composite);
    expect(elementOf(done.text, "ChecksumType")).toBe("COMPOSITE");
    const asked = { "x-amz-checksum-mode": "ENABLED" };
    const { headers } = await send("HEAD", "/main/composite", { headers: asked });
    expect(headers["x-amz-checksum-sha256"]).toBe(composite);
    const attributes = { "x-amz-object-attributes": "ObjectParts,Checksum" };
    const { text } = await send("GET", "/main/composite?attributes", { headers: attributes });
    expect(elementOf(text, "TotalPartsCount")).toBe("3");
    const none = { ...attributes, "x-amz-max-parts": "0" };
    const empty = await send("GET", "/main/composite?attributes", { headers: none });
    expect(elementOf(empty.text, "IsTruncated")).toBe("false");
    expect(elementsOf(text, "Size")).toEqual([`${5 * MIB}`, `${5 * MIB}`, "7"]);
  });

  test("takes no part with another checksum than its own", async () => {
    const named = { "x-amz-checksum-algorithm": "SHA256" };
    const id = await create("mismatch", named);
    const headers = {
      "x-amz-checksum-sha1": createHash("sha1").update("x").digest("base64"),
    };
    const target = `/main/mismatch?partNumber=1&uploadId=${id}`;
    expect((await send("PUT", target, { body: "x", headers })).code).toBe("InvalidRequest");
    const wrong = { "x-amz-checksum-sha256": sha256("y").toString("base64") };
    expect((await send("PUT", target, { body: "x", headers: wrong })).code).toBe("BadDigest");
    const { text } = await send("GET", `/main/mismatch?uploadId=${id}`);
    expect(elementsOf(text, "PartNumber")).toEqual([]);
  });

  test("copies parts, whole and by range", async () => {
    await send("PUT", "/main/source", { body: PARTS.join("") });
    const id = await create("copied");
    const copy = async (number: number, range?: string): Promise<Received> =>
      send("PUT", `/main/copied?partNumber=${number}&uploadId=${id}`, {
        headers: {
          "x-amz-copy-source": "/main/source",
          ...(range && { "x-amz-copy-source-range": range }),
        },
      });
    const whole = await copy(1);
    const last = await copy(2, `bytes=${10 * MIB}-${10 * MIB + 6}`);
    expect(elementOf(last.text, "ETag")).toBe(`"${md5("the end").toString("hex")}"`);
    for (const range of [`bytes=0-${10 * MIB + 7}`, "bytes=5-1", "bytes=-5", "bytes=5-"]) {
      expect((await copy(3, range)).code).toBe("InvalidArgument");
    }
    const done = await complete(`/main/copied?uploadId=${id}`, [
      [1, elementOf(whole.text, "ETag")!],
      [2, elementOf(last.text, "ETag")!],
    ]);
    expect(done.status).toBe(200);
    const range = { range: "bytes=-14" };
    expect((await send("GET", "/main/copied", { headers: range })).text).toBe("the endthe end");
  });

  test.each([
    ["NoSuchUpload", "PUT", "/main/k?partNumber=1&uploadId=none"],
    ["NoSuchUpload", "POST", "/main/k?uploadId=none"],
    ["NoSuchUpload", "GET", "/main/k?uploadId=none"],
    ["NoSuchUpload", "DELETE", "/main/k?uploadId=none"],
    ["NoSuchBucket", "POST", "/none/k?uploads"],
    ["InvalidArgument", "PUT", "/main/k?partNumber=0&uploadId=none"],
    ["InvalidArgument", "PUT", "/main/k?partNumber=10001&uploadId=none"],
  ])("is refused with %s for %s %s", async (code, method, target) => {
    const body =
      "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>";
    expect((await send(method, target, method === "GET" ? {} : { body })).code).toBe(code);
  });

  test("belongs to its key", async () => {
    const id = await create("mine");
    const target = `/main/other?partNumber=1&uploadId=${id}`;
    expect((await send("PUT", target, { body: "x" })).code).toBe("NoSuchUpload");
    expect((await send("DELETE", `/main/other?uploadId=${id}`)).code).toBe("NoSuchUpload");
    expect((await send("DELETE", `/main/mine?uploadId=${id}`)).status).toBe(204);
    expect((await send("DELETE", `/main/mine?uploadId=${id}`)).code).toBe("NoSuchUpload");
  });
});

describe("lists of uploads", () => {
  /** The elements of a name of all pages, without the prefix that is asked for. */
  async function listed(query: string, max: number, name: "UploadId" | "Key" | "Prefix") {
    const seen: string[] = [];
    let marker = "";
    for (let pages = 0; pages < 20; pages++) {
      const { text } = await send("GET", `/main?uploads&${query}&max-uploads=${max}${marker}`);
      const common = elementsOf(text, "Prefix").slice(1);
      expect(elementsOf(text, "UploadId").length + common.length).toBeLessThanOrEqual(max);
      seen.push(...(name === "Prefix" ? common : elementsOf(text, name)));
      if (elementOf(text, "IsTruncated") === "false") return seen;
      const key = encodeURIComponent(elementOf(text, "NextKeyMarker")!);
      marker = `&key-marker=${key}&upload-id-marker=${elementOf(text, "NextUploadIdMarker")}`;
    }
    throw new Error(`the list does not end: ${seen.join(" ")}`);
  }

  test("have each once, in pages and with common prefixes", async () => {
    const keys = ["list/a/1", "list/a/2", "list/b", "list/b", "list/c", "list/d/", "list/d/1"];
    const ids = [];
    for (const key of keys) ids.push(await create(key));
    for (const max of [1, 2, 3, 1000]) {
      expect(await listed("prefix=list%2F", max, "UploadId")).toEqual(ids);
      const query = "prefix=list%2F&delimiter=%2F";
      expect(await listed(query, max, "Key")).toEqual(["list/b", "list/b", "list/c"]);
      expect(await listed(query, max, "Prefix")).toEqual(["list/a/", "list/d/"]);
      // A key that ends with the delimiter, and is not rolled up.
      const within = "prefix=list%2Fd%2F&delimiter=%2F";
      expect(await listed(within, max, "Key")).toEqual(["list/d/", "list/d/1"]);
    }
  });

  test("have the parts of one, in pages", async () => {
    const target = `/main/parts?uploadId=${await create("parts")}`;
    for (const number of [3, 1, 10_000]) await upload(target, number, `part ${number}`);
    const first = await send("GET", `${target}&max-parts=2`);
    expect(elementsOf(first.text, "PartNumber")).toEqual(["1", "3"]);
    expect(elementOf(first.text, "IsTruncated")).toBe("true");
    const marker = elementOf(first.text, "NextPartNumberMarker");
    const rest = await send("GET", `${target}&part-number-marker=${marker}`);
    expect(elementsOf(rest.text, "PartNumber")).toEqual(["10000"]);
    expect(elementsOf(rest.text, "Size")).toEqual(["10"]);
    expect(elementOf(rest.text, "IsTruncated")).toBe("false");
  });
});
