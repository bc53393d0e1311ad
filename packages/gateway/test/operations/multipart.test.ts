import { expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { ChecksumAlgorithm } from "../../src/body/algorithms.ts";
import { createDigester } from "../../src/body/digester.ts";
import { elementOf, type Received, type Running, startGateway } from "./running.ts";

setDefaultTimeout(120_000);

const CONTENT = "0123456789";

function crc32Of(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString("base64");
}

async function digestOf(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Promise<string> {
  const digester = createDigester([algorithm]);
  await digester.update(bytes);
  const digests = await digester.digest();
  return Buffer.from(digests.get(algorithm)!).toString("base64");
}

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("base64");

/** Creates an upload of the key `k`. */
async function create(
  { send }: Running,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { text } = await send("POST", "/main/k?uploads", { headers });
  return elementOf(text, "UploadId") ?? "";
}

/** Uploads the content as its only part. */
async function upload(
  { send }: Running,
  id: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const target = `/main/k?partNumber=1&uploadId=${id}`;
  const { status, headers: answer } = await send("PUT", target, { body: CONTENT, headers });
  expect(status).toBe(200);
  return String(answer["etag"]);
}

async function complete(
  { send }: Running,
  id: string,
  part: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Received> {
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>${part}</Part></CompleteMultipartUpload>`;
  return send("POST", `/main/k?uploadId=${id}`, { body, headers });
}

test("a part's checksum that nobody computed is refused", async () => {
  await using running = await startGateway();
  const id = await create(running);
  const etag = `<ETag>${await upload(running, id)}</ETag>`;
  const stated = `${etag}<ChecksumSHA256>${sha256Of(CONTENT)}</ChecksumSHA256>`;
  expect((await complete(running, id, stated)).code).toBe("InvalidPart");
  expect((await complete(running, id, etag)).status).toBe(200);
});

test.each([
  ["crc32", "FULL_OBJECT"],
  ["crc32", "COMPOSITE"],
  ["crc32c", "FULL_OBJECT"],
  ["crc32c", "COMPOSITE"],
  ["crc64nvme", "FULL_OBJECT"],
  ["sha1", "COMPOSITE"],
  ["sha256", "COMPOSITE"],
  ["md5", "COMPOSITE"],
  ["sha512", "COMPOSITE"],
  ["xxhash128", "COMPOSITE"],
  ["xxhash3", "COMPOSITE"],
  ["xxhash64", "COMPOSITE"],
] as const)("the object's checksum, %s and %s, is checked", async (algorithm, type) => {
  await using running = await startGateway();
  const header = `x-amz-checksum-${algorithm}`;
  const id = await create(running, {
    "x-amz-checksum-algorithm": algorithm.toUpperCase(),
    "x-amz-checksum-type": type,
  });
  const sum = await digestOf(algorithm, Buffer.from(CONTENT));
  const element = `Checksum${algorithm.toUpperCase()}`;
  const etag = await upload(running, id, { [header]: sum });
  const part = `<ETag>${etag}</ETag><${element}>${sum}</${element}>`;
  const ofSums = await digestOf(algorithm, Buffer.from(sum, "base64"));
  // Of a single part, all bytes are its own.
  const right = type === "FULL_OBJECT" ? sum : `${ofSums}-1`;
  const wrong = `${right.startsWith("A") ? "B" : "A"}${right.slice(1)}`;
  expect((await complete(running, id, part, { [header]: wrong })).code).toBe("BadDigest");
  const other = algorithm === "sha1" ? "sha256" : "sha1";
  const foreign = { [`x-amz-checksum-${other}`]: await digestOf(other, Buffer.from(CONTENT)) };
  expect((await complete(running, id, part, foreign)).code).toBe("InvalidRequest");
  const done = await complete(running, id, part, { [header]: right });
  expect([done.status, elementOf(done.text, element)]).toEqual([200, right]);
});

test("a part lacks no checksum that the object's is made of", async () => {
  await using running = await startGateway();
  const { send } = running;
  for (const [type, expected] of [
    ["COMPOSITE", "InvalidRequest"],
    ["FULL_OBJECT", undefined],
  ] as const) {
    const id = await create(running, {
      "x-amz-checksum-algorithm": "CRC32",
      "x-amz-checksum-type": type,
    });
    const { code } = await send("PUT", `/main/k?partNumber=1&uploadId=${id}`, { body: CONTENT });
    expect([type, code]).toEqual([type, expected]);
  }
});

test.each([
  [{ "x-amz-checksum-type": "OTHER" }, "x-amz-checksum-type"],
  [{ "x-amz-checksum-crc32": "AAA" }, "x-amz-checksum-crc32"],
  [{ "x-amz-checksum-crc32": "AAAAAA==", "x-amz-checksum-sha1": "AAAAAA==" }, "single"],
] as const)("what Complete states must be one checksum: %p", async (headers, message) => {
  await using running = await startGateway();
  const id = await create(running);
  const refused = await complete(running, id, "<ETag>x</ETag>", headers);
  expect([refused.code, refused.text]).toEqual([
    "InvalidRequest",
    expect.stringContaining(message),
  ]);
});

test("an object's checksum is refused of an upload without an algorithm", async () => {
  await using running = await startGateway();
  const id = await create(running);
  const etag = `<ETag>${await upload(running, id)}</ETag>`;
  const stated = { "x-amz-checksum-sha256": sha256Of(CONTENT) };
  expect((await complete(running, id, etag, stated)).code).toBe("InvalidRequest");
});

test("a copied part has the checksum of its upload", async () => {
  await using running = await startGateway();
  const { send } = running;
  await send("PUT", "/main/source", { body: `xx${CONTENT}` });
  const id = await create(running, {
    "x-amz-checksum-algorithm": "CRC32",
    "x-amz-checksum-type": "FULL_OBJECT",
  });
  const copied = await send("PUT", `/main/k?partNumber=1&uploadId=${id}`, {
    headers: { "x-amz-copy-source": "/main/source", "x-amz-copy-source-range": "bytes=2-11" },
  });
  expect(elementOf(copied.text, "ChecksumCRC32")).toBe(crc32Of(CONTENT));
  const etag = `<ETag>${elementOf(copied.text, "ETag")}</ETag>`;
  const done = await complete(running, id, etag);
  expect(elementOf(done.text, "ChecksumCRC32")).toBe(crc32Of(CONTENT));
  expect((await send("GET", "/main/k")).text).toBe(CONTENT);
});

test("an upload is aborted only if it began when the client says", async () => {
  await using running = await startGateway();
  const id = await create(running);
  const target = `/main/k?uploadId=${id}`;
  const early = { "x-amz-if-match-initiated-time": "Mon, 01 Jan 2024 00:00:00 GMT" };
  expect((await running.send("DELETE", target, { headers: early })).code).toBe(
    "PreconditionFailed",
  );
  expect((await running.send("DELETE", target)).status).toBe(204);
});
