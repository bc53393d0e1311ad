import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { elementOf, elementsOf, keyTable, type Received, sharedGateway } from "./running.ts";

setDefaultTimeout(120_000);

const running = sharedGateway(
  {},
  {},
  [
    keyTable("ALLIN", 'prefixes = ["in/"]'),
    keyTable("READER", 'prefixes = ["in/"]\nrights = ["read"]'),
    keyTable("WRITER", 'prefixes = ["in/"]\nrights = ["write"]'),
    keyTable("LISTER", 'prefixes = ["in/"]\nrights = ["list"]'),
    keyTable("ELSEWHERE", 'buckets = ["team-*"]'),
    keyTable("DISABLED", "enabled = false"),
  ].join(""),
);

/** Uploads of the admin, to a key inside of the prefix and one outside. */
let [inside, outside] = ["", ""];

beforeAll(async () => {
  const { send } = running();
  for (const key of ["in/a", "out/a", "inside"]) await send("PUT", `/main/${key}`, { body: key });
  inside = elementOf((await send("POST", "/main/in/up?uploads")).text, "UploadId")!;
  outside = elementOf((await send("POST", "/main/out/up?uploads")).text, "UploadId")!;
  await send("PUT", "/team-a");
});

async function as(
  key: string,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Received> {
  return running().send(method, target, { as: key, headers, body });
}

const DELETE_BOTH =
  "<Delete><Object><Key>in/none</Key></Object><Object><Key>out/a</Key></Object><Object><Key>inside</Key></Object></Delete>";
const DELETE_HEADERS = {
  "content-md5": createHash("md5").update(DELETE_BOTH).digest("base64"),
};
const PART = "<Part><PartNumber>1</PartNumber><ETag>x</ETag></Part>";
const COMPLETE = `<CompleteMultipartUpload>${PART}</CompleteMultipartUpload>`;
const TAGS = "<Tagging><TagSet/></Tagging>";

/** Requests with the right that each needs. `KEY`, `PREFIX` and `UP` (an upload) are replaced. */
const REQUESTS: readonly (readonly [
  right: "read" | "write" | "list",
  method: string,
  target: string,
  headers?: Readonly<Record<string, string>>,
  body?: string,
])[] = [
  ["read", "GET", "/main/KEY"],
  ["read", "GET", "/main/KEY", { range: "bytes=0-0" }],
  ["read", "GET", "/main/KEY?attributes", { "x-amz-object-attributes": "ETag" }],
  ["read", "GET", "/main/KEY?tagging"],
  ["read", "GET", "/main/KEY?acl"],
  ["write", "PUT", "/main/KEY", {}, "text"],
  ["write", "PUT", "/main/KEY?tagging", {}, TAGS],
  ["write", "DELETE", "/main/KEY?tagging"],
  ["write", "POST", "/main/KEY?uploads"],
  ["write", "PUT", "/main/KEY?partNumber=1&uploadId=UP", {}, "text"],
  ["write", "POST", "/main/KEY?uploadId=UP", {}, COMPLETE],
  ["list", "GET", "/main/KEY?uploadId=UP"],
  ["list", "GET", "/main?prefix=PREFIX"],
  ["list", "GET", "/main?list-type=2&prefix=PREFIX"],
  ["list", "GET", "/main?versions&prefix=PREFIX"],
  ["list", "GET", "/main?uploads&prefix=PREFIX"],
  ["write", "DELETE", "/main/KEY?uploadId=UP"],
  ["write", "DELETE", "/main/KEY"],
];

const KEYS = [
  ["READER", ["read"]],
  ["WRITER", ["write"]],
  ["LISTER", ["list"]],
  ["ALLIN", ["read", "write", "list"]],
  ["ELSEWHERE", []],
] as const;

describe.each(KEYS)("the key %s", (id, rights) => {
  test.each(REQUESTS.map((request, index) => [request[1], request[2], index] as const))(
    "has its rights where its prefix is, and nowhere else: %s %s",
    async (_, __, index) => {
      const [right, method, target, headers = {}, body] = REQUESTS[index]!;
      const at = (key: string, prefix: string, upload: string): string =>
        target
          .replace("KEY", key)
          .replace("PREFIX", encodeURIComponent(prefix))
          .replace("UP", upload);
      await running().send("PUT", "/main/in/a", { body: "in/a" });
      const isAllowed = rights.some((other) => other === right);
      const there = await as(id, method, at("in/a", "in/", inside), headers, body);
      if (isAllowed) expect(there.code).not.toBe("AccessDenied");
      else expect([there.status, there.code]).toEqual([403, "AccessDenied"]);
      for (const place of [at("out/a", "out/", outside), at("inside", "", outside)]) {
        const { status, code } = await as(id, method, place, headers, body);
        expect([place, status, code]).toEqual([place, 403, "AccessDenied"]);
      }
    },
  );
});

test("what a key may not change stays", async () => {
  const { send } = running();
  for (const key of ["out/a", "inside"]) expect((await send("GET", `/main/${key}`)).text).toBe(key);
  expect((await send("GET", `/main/out/up?uploadId=${outside}`)).status).toBe(200);
});

test("a list of deletions has its rights for each key", async () => {
  const { status, text } = await as("WRITER", "POST", "/main?delete", DELETE_HEADERS, DELETE_BOTH);
  expect(status).toBe(200);
  expect(elementsOf(text, "Key")).toEqual(["in/none", "out/a", "inside"]);
  expect(elementsOf(text, "Code")).toEqual(["AccessDenied", "AccessDenied"]);
  const reader = await as("READER", "POST", "/main?delete", DELETE_HEADERS, DELETE_BOTH);
  expect([reader.status, reader.code]).toEqual([403, "AccessDenied"]);
  expect((await running().send("GET", "/main/out/a")).text).toBe("out/a");
});

test("a copy needs to read its source and to write its target", async () => {
  const from = (source: string) => ({ "x-amz-copy-source": source });
  await running().send("PUT", "/main/in/a", { body: "in/a" });
  expect((await as("ALLIN", "PUT", "/main/in/copy", from("/main/in/a"))).status).toBe(200);
  for (const [id, target, source] of [
    ["ALLIN", "/main/in/copy", "/main/out/a"],
    ["ALLIN", "/main/in/copy", "/main/out%2Fa"],
    ["ALLIN", "/main/out/copy", "/main/in/a"],
    ["WRITER", "/main/in/copy", "/main/in/a"],
    ["READER", "/main/in/copy", "/main/in/a"],
    ["ALLIN", `/main/in/up?partNumber=1&uploadId=${inside}`, "/main/out/a"],
    ["WRITER", `/main/in/up?partNumber=1&uploadId=${inside}`, "/main/in/a"],
    ["ELSEWHERE", "/team-a/copy", "/main/in/a"],
  ] as const) {
    expect((await as(id, "PUT", target, from(source))).code).toBe("AccessDenied");
  }
});

test("a list cannot be moved out of its prefix", async () => {
  for (const query of [
    "prefix=in%2F&marker=a",
    "list-type=2&prefix=in%2F&start-after=a",
    "versions&prefix=in%2F&key-marker=a",
    `list-type=2&prefix=in%2F&continuation-token=k${Buffer.from("a").toString("base64url")}`,
  ]) {
    const { status, text } = await as("LISTER", "GET", `/main?${query}`);
    expect(status).toBe(200);
    for (const key of elementsOf(text, "Key")) expect(key).toStartWith("in/");
  }
  expect((await as("LISTER", "GET", "/main?prefix=i")).code).toBe("AccessDenied");
});

test("a key with prefixes changes no bucket", async () => {
  for (const [method, target] of [
    ["PUT", "/newly-made"],
    ["DELETE", "/team-a"],
    ["DELETE", "/main?policy"],
    ["PUT", "/main?acl"],
  ] as const) {
    expect((await as("ALLIN", method, target)).code).toBe("AccessDenied");
  }
  expect((await as("ALLIN", "HEAD", "/main")).status).toBe(200);
});

test("a key sees only its buckets", async () => {
  const names = async (id: string) => elementsOf((await as(id, "GET", "/")).text, "Name");
  expect(await names("ELSEWHERE")).toEqual(["team-a"]);
  expect(await names("LISTER")).toEqual(["b", "main", "team-a"]);
  expect((await as("READER", "GET", "/")).code).toBe("AccessDenied");
  expect((await as("ELSEWHERE", "HEAD", "/main")).status).toBe(403);
  expect((await as("ELSEWHERE", "HEAD", "/none")).status).toBe(403);
});

test("a key that is disabled, or unknown, is none", async () => {
  for (const id of ["DISABLED", "UNKNOWN"]) {
    expect((await as(id, "GET", "/main/in/a")).code).toBe("InvalidAccessKeyId");
  }
});
