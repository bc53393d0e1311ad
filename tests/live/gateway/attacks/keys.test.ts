import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { createHash } from "node:crypto";
import { elements, encode, encodeValue } from "../s3-requests.ts";
import { type Attacked, attackedGateway, BUCKET, statusesOf } from "./attacked.ts";

setDefaultTimeout(120_000);

let attacked: Attacked;
beforeAll(async () => {
  attacked = await attackedGateway();
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

/** Keys that are paths elsewhere, or something else to somebody. */
const TRICKS = [
  "..",
  ".",
  "../..",
  "../../etc/passwd",
  "/etc/passwd",
  "//etc//passwd",
  "a/../b",
  "a/./b",
  "a//b",
  "a/b/..",
  "./",
  "/",
  "//",
  "a/",
  "a",
  "A",
  "..\\..\\windows",
  "C:\\x",
  "C:",
  "nul",
  "%2e%2e%2f",
  "%00",
  "%",
  "%zz",
  "a%2Fb",
  "a+b",
  "a b",
  " a ",
  "?x=y",
  "a?uploads",
  "#fragment",
  "a;b",
  "a&b=c",
  "<Key>&amp;</Key>",
  "]]>",
  "a\tb",
  "a\nb",
  "a\r\nb",
  "\u{1}",
  "\u{7f}",
  "\u{85}",
  "\u{feff}bom",
  "\u{fffe}",
  "\u{ffff}",
  "\u{202e}txt",
  "e\u{301}",
  "\u{e9}",
  "\u{212b}",
  "\u{c5}",
  "🙂",
  "\u{10ffff}",
  "İ",
  "ß",
  "__proto__",
  "constructor",
  "toString",
  "healthz",
  "metrics",
  ".well-known",
  "s3/heads",
  "$(id)",
  "`id`",
  "'; DROP TABLE objects; --",
  "{{7*7}}",
];

const md5Header = (body: string): Record<string, string> => ({
  "content-md5": createHash("md5").update(body).digest("base64"),
});

/** All keys by one listing after another, decoded. */
async function listed(query = "list-type=2"): Promise<string[]> {
  const { body } = await attacked.requests.send("GET", `/${BUCKET}?${query}&encoding-type=url`);
  return elements(body, "Key").map((key) => decodeURIComponent(key.replaceAll("+", "%20")));
}

const byBytes = (keys: readonly string[]): string[] =>
  keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** Stores, reads, lists, copies and deletes all of the keys. */
async function expectOwn(keys: readonly string[]): Promise<void> {
  const { requests } = attacked;
  for (const key of keys) {
    const { status } = await requests.send("PUT", `/${BUCKET}/${encode(key)}`, {
      body: `content of ${key}`,
    });
    expect([key, status]).toEqual([key, 200]);
  }
  const expected = byBytes(keys);
  expect(await listed()).toEqual(expected);
  expect(await listed("max-keys=1000")).toEqual(expected);
  for (const key of keys) {
    const { status, body } = await requests.send("GET", `/${BUCKET}/${encode(key)}`);
    expect([key, status, body.toString()]).toEqual([key, 200, `content of ${key}`]);
    const alone = await listed(`list-type=2&max-keys=1&prefix=${encodeValue(key)}`);
    expect([key, alone]).toEqual([key, [key]]);
  }
  const source = { "x-amz-copy-source": `/${BUCKET}/${encode(keys[0]!)}` };
  for (const key of keys.slice(1)) {
    await requests.send("PUT", `/${BUCKET}/${encode(key)}`, { headers: source });
  }
  const last = await requests.send("GET", `/${BUCKET}/${encode(keys.at(-1)!)}`);
  expect(last.body.toString()).toBe(`content of ${keys[0]}`);
  for (const key of keys) {
    const { status } = await requests.send("DELETE", `/${BUCKET}/${encode(key)}`);
    expect([key, status]).toEqual([key, 204]);
  }
  expect(await listed()).toEqual([]);
}

test("keys that are paths elsewhere are names, each of its own", async () => {
  await expectOwn(TRICKS);
});

test("keys may have any characters, and 1,024 bytes", async () => {
  const random = Array.from({ length: 120 }, (_, index) => {
    const length = index < 20 ? 1024 : 1 + Math.floor(Math.random() * 60);
    let key = "";
    while (Buffer.byteLength(key) < length) {
      const limit = [0x80, 0x800, 0x10000, 0x110000][Math.floor(Math.random() * 4)]!;
      const point = Math.floor(Math.random() * limit);
      if (point === 0 || (point >= 0xd800 && point < 0xe000)) continue;
      const longer = key + String.fromCodePoint(point);
      if (Buffer.byteLength(longer) > length) key += "x".repeat(length - Buffer.byteLength(key));
      else key = longer;
    }
    return key;
  });
  await expectOwn([...new Set(random)]);
});

test("keys of 1,024 bytes may be of uploads, and be deleted with others", async () => {
  const { requests } = attacked;
  const keys = ["🙂".repeat(256), `${"/".repeat(1023)}x`, "\\".repeat(1024)];
  for (const key of keys) {
    const target = `/${BUCKET}/${encode(key)}`;
    const begun = await requests.send("POST", `${target}?uploads`);
    const upload = encodeValue(elements(begun.body, "UploadId")[0]!);
    const part = await requests.send("PUT", `${target}?partNumber=1&uploadId=${upload}`, {
      body: "part",
    });
    const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.etag}</ETag></Part></CompleteMultipartUpload>`;
    expect((await requests.send("POST", `${target}?uploadId=${upload}`, { body })).status).toBe(
      200,
    );
  }
  expect(await listed()).toEqual(byBytes(keys));
  const objects = keys.map((key) => `<Object><Key>${key}</Key></Object>`).join("");
  const body = `<Delete>${objects}</Delete>`;
  const headers = md5Header(body);
  const { status } = await requests.send("POST", `/${BUCKET}?delete`, { headers, body });
  expect(status).toBe(200);
  expect(await listed()).toEqual([]);
});

describe("is refused:", () => {
  test.each<readonly [string, string]>([
    ["a key of 1,025 bytes", "x".repeat(1025)],
    ["a key of 1,024 characters and 2,048 bytes", "%C3%A9".repeat(1024)],
    ["a byte that is not UTF-8", "%FF"],
    ["a longer form of a slash", "%C0%AF"],
    ["half of a pair", "%ED%A0%80"],
    ["what is cut off", "%E2%82"],
    ["a character beyond Unicode", "%F4%90%80%80"],
  ])("%s", async (_, encoded) => {
    const { requests } = attacked;
    for (const method of ["PUT", "GET", "DELETE"]) {
      const answer = await requests.send(method, `/${BUCKET}/${encoded}`);
      expect([method, answer.status]).toEqual([method, 400]);
    }
    expect(await listed()).toEqual([]);
  });

  test.each([
    "/../etc/passwd",
    "/%2e%2e/etc/passwd",
    "/./x",
    "/a/x",
    "/a..b/x",
    "/A_B/x",
    `/${"a".repeat(64)}/x`,
    "/192.168.0.1/x",
    "//x",
    "/%00/x",
    "/attacked%2Fx",
    "/xn--a/x",
  ])("the bucket of %s", async (target) => {
    const head = attacked.head({ method: "PUT", target }, "content-length: 0", "connection: close");
    const [status] = statusesOf(await attacked.raw(head));
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });
});

test("no name is one of a file, and nothing was a fault of the gateway", async () => {
  const files = await readdir(attacked.home.path("store"), { recursive: true });
  const strange = files.filter((name) => !/^s3(?:\/[0-9a-z.\-/]+)?$/u.test(name));
  expect(strange).toEqual([]);
  const log = await attacked.stop();
  expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
});
