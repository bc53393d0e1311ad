import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { elementOf, elementsOf, encoded, pathOf, type Running, sharedGateway } from "./running.ts";

setDefaultTimeout(120_000);

const running = sharedGateway();

/** Keys that other servers fold, normalise or refuse. Each is a key of its own. */
const KEYS = [
  "a//b",
  "a/b",
  "a/./b",
  "a/../b",
  "//lead",
  "/lead",
  "lead",
  ".",
  "..",
  "tail/",
  "tail//",
  " space ",
  "+",
  "%2F",
  "%",
  "a?b=c&d#e",
  "<x>'\"&amp;",
  // Composed and decomposed.
  "\u00e9",
  "e\u0301",
  "\uFEFFbyte order mark",
  "日本/😀",
  "line\nfeed\r\ttab",
  "\u0001\u007f\u0085\u2028",
  "\uFFFE\uFFFF",
  "k".repeat(1024),
  "ü".repeat(512),
  "😀".repeat(256),
];

/** What XML 1.0 cannot have, or means something in it, as references. */
function toXml(key: string): string {
  return key.replaceAll(
    /[&<>"'\r\uFFFE\uFFFF]|(?![\t\n])\p{Cc}/gu,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

const NAMED = new Map(Object.entries({ lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" }));

function fromXml(text: string): string {
  return text.replaceAll(/&(?:#x([\da-f]+)|(\w+));/gu, (_, hex?: string, name = "") =>
    hex === undefined ? NAMED.get(String(name))! : String.fromCodePoint(Number.parseInt(hex, 16)),
  );
}

/** Reports of tests are XML, which cannot have U+FFFE and U+FFFF. */
const titleOf = (key: string): string =>
  key.length > 40 ? `${key.slice(0, 2)}…` : key.replace("\uFFFE\uFFFF", "U+FFFE U+FFFF");

describe.each(KEYS.map((key) => [titleOf(key), key] as const))("the key %j", (_, key) => {
  const send: Running["send"] = async (...given) => running().send(...given);

  test("is stored, found, copied, tagged and deleted as it is", async () => {
    const content = `content of ${key}`;
    expect((await send("PUT", pathOf(key), { body: content })).status).toBe(200);
    expect((await send("GET", pathOf(key))).text).toBe(content);
    expect((await send("HEAD", pathOf(key))).headers["content-length"]).toBe(
      `${Buffer.byteLength(content)}`,
    );
    // With slashes encoded, too.
    expect((await send("GET", `/main/${encoded(key)}`)).text).toBe(content);

    const headers = { "x-amz-copy-source": `/main/${encoded(key)}` };
    const copied = await send("PUT", "/main/copy%20of%20it", { headers });
    expect(copied.status).toBe(200);
    expect((await send("GET", "/main/copy%20of%20it")).text).toBe(content);

    const tagging = `${pathOf(key)}?tagging`;
    const body = "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>";
    expect((await send("PUT", tagging, { body })).status).toBe(200);
    expect(elementsOf((await send("GET", tagging)).text, "Value")).toEqual(["v"]);

    const listed = await send("GET", `/main?encoding-type=url&prefix=${encoded(key)}`);
    const keys = elementsOf(listed.text, "Key").map((name) => decodeURIComponent(name));
    expect(keys).toContain(key);
    for (const found of keys) expect(found).toStartWith(key);

    expect((await send("DELETE", pathOf(key))).status).toBe(204);
    expect((await send("GET", pathOf(key))).code).toBe("NoSuchKey");
  });

  test("is uploaded in parts, and deleted by a list, as it is", async () => {
    const created = await send("POST", `${pathOf(key)}?uploads`);
    const id = elementOf(created.text, "UploadId");
    const part = await send("PUT", `${pathOf(key)}?partNumber=1&uploadId=${id}`, { body: key });
    const uploads = await send("GET", `/main?uploads&encoding-type=url&prefix=${encoded(key)}`);
    expect(elementsOf(uploads.text, "Key").map((name) => decodeURIComponent(name))).toEqual([key]);
    const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${String(part.headers["etag"])}</ETag></Part></CompleteMultipartUpload>`;
    const done = await send("POST", `${pathOf(key)}?uploadId=${id}`, { body });
    expect(done.status).toBe(200);
    expect((await send("GET", pathOf(key))).text).toBe(key);

    const entry = `<Delete><Object><Key>${toXml(key)}</Key></Object></Delete>`;
    const digest = { "content-md5": createHash("md5").update(entry).digest("base64") };
    const deleted = await send("POST", "/main?delete", { body: entry, headers: digest });
    expect(fromXml(elementOf(deleted.text, "Key")!)).toBe(key);
    expect((await send("HEAD", pathOf(key))).status).toBe(404);
  });
});

test("all of them are keys of their own", async () => {
  const { send } = running();
  for (const key of KEYS) await send("PUT", pathOf(key), { body: key });
  for (const key of KEYS) expect((await send("GET", pathOf(key))).text).toBe(key);
  const { text } = await send("GET", "/main?encoding-type=url&prefix=");
  const keys = elementsOf(text, "Key").map((name) => decodeURIComponent(name));
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  expect(keys.filter((key) => key !== "copy of it")).toEqual(KEYS.toSorted(byBytes));
});

test("a key longer than 1,024 bytes is refused by each operation", async () => {
  const { send } = running();
  for (const key of ["k".repeat(1025), "ü".repeat(513)]) {
    const path = pathOf(key);
    for (const [method, target] of [
      ["PUT", path],
      ["GET", path],
      ["DELETE", path],
      ["POST", `${path}?uploads`],
      ["GET", `${path}?tagging`],
    ] as const) {
      expect((await send(method, target)).code).toBe("KeyTooLongError");
    }
    expect((await send("HEAD", path)).status).toBe(400);
  }
});

test.each(["/main/%ff", "/main/%c3", "/main/%", "/main/%zz", "/main/%ed%a0%80"])(
  "%s is not UTF-8, and refused",
  async (target) => {
    const { send } = running();
    expect((await send("PUT", target, { body: "" })).code).toBe("InvalidURI");
  },
);

test("any text of up to 1,024 bytes is a key", async () => {
  const { send } = running();
  const text = fc
    .string({ unit: "binary", minLength: 1, maxLength: 200 })
    .filter((key) => key.isWellFormed() && Buffer.byteLength(key) <= 1024);
  await fc.assert(
    fc.asyncProperty(text, async (key) => {
      const target = `/main/${encoded(key)}`;
      expect((await send("PUT", target, { body: key })).status).toBe(200);
      expect((await send("GET", target)).text).toBe(key);
      const listed = await send("GET", `/main?encoding-type=url&prefix=${encoded(key)}`);
      expect(decodeURIComponent(elementOf(listed.text, "Key")!)).toBe(key);
      expect((await send("DELETE", target)).status).toBe(204);
    }),
    { numRuns: 60 },
  );
});
