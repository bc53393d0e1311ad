import { describe, expect, test } from "bun:test";
import { parseStoreUrl, repositoryLocation, type StoreLocation } from "../../src/url/index.ts";

const SECRET = "sesame-open";
const MINIO = { MINIO_ACCESS_KEY: "ada", MINIO_SECRET_KEY: SECRET };
const B2 = { B2_ACCESS_KEY_ID: "005ada", B2_SECRET_ACCESS_KEY: SECRET };
const ALL = { ...MINIO, ...B2 };
const HEX = "0f".repeat(32);

const parse = (url: string, env: Record<string, string> = ALL) => parseStoreUrl(url, env);

describe("folders", () => {
  test.each<[text: string, folder: string]>([
    ["blobs", "blobs"],
    ["./s3", "./s3"],
    ["C:/blobs", "C:/blobs"],
    ["file:///tmp/with%20space", "/tmp/with space"],
    ["file://localhost/tmp", "/tmp"],
  ])("%s", (text, folder) => {
    expect(parse(text)).toEqual({ kind: "filesystem", folder });
  });
});

test.each([
  ["blobs", "blobs/repo"],
  ["file:///tmp/blobs/?durability=none", "/tmp/blobs/repo"],
  ["file:///", "/repo"],
])("the repository in %s", (text, folder) => {
  expect(repositoryLocation(parse(text))).toEqual({ ...parse(text), folder } as never);
});

test.each([
  ["s3://bucket", "repo"],
  ["s3://bucket/", "repo"],
  ["s3://bucket/a/b", "a/b/repo"],
  ["s3://bucket/a/b/", "a/b/repo"],
  ["minio://127.0.0.1/bucket/a", "a/repo"],
  ["b2://bucket/a?region=us-east-005", "a/repo"],
])("the repository in %s", (text, prefix) => {
  expect(repositoryLocation(parse(text))).toEqual({ ...parse(text), prefix } as never);
});

test("the repository in a location whose prefix ends with a slash", () => {
  const location = parse("s3://bucket") as Extract<StoreLocation, { kind: "s3" }>;
  expect(repositoryLocation({ ...location, prefix: "a/" })).toMatchObject({ prefix: "a/repo" });
});

describe("durability of a folder", () => {
  test.each(["full", "none"] as const)("%s", (durability) => {
    expect(parse(`file:///tmp/a%20b?durability=${durability}`)).toEqual({
      kind: "filesystem",
      folder: "/tmp/a b",
      durability,
    });
  });

  test("is read from URLs only, not from folder paths", () => {
    const folder = "blobs?durability=none";
    expect(parse(folder)).toEqual({ kind: "filesystem", folder });
  });

  test.each<[url: string, message: string]>([
    ["file:///tmp?durability=some", "must have full or none for durability"],
    ["file:///tmp?durability", "gives the parameter durability no value"],
    ["file:///tmp?durabilty=none", "did you mean durability?"],
    ["file:///tmp?token=x", "takes no credentials in the URL"],
  ])("rejects %s", (url, message) => {
    expect(() => parse(url)).toThrow(message);
  });
});

describe("s3", () => {
  test.each<[url: string, expected: object]>([
    ["s3://attic", { kind: "s3", bucket: "attic" }],
    ["S3://attic/", { bucket: "attic" }],
    ["s3://attic/a/b/", { bucket: "attic", prefix: "a/b" }],
    ["s3://attic//a", { bucket: "attic", prefix: "a" }],
    ["s3://attic/a%20b", { prefix: "a b" }],
    ["s3://attic?region=eu-central-1", { region: "eu-central-1" }],
    ["s3://attic?endpoint=http://127.0.0.1:9000", { endpoint: "http://127.0.0.1:9000" }],
    ["s3://attic?endpoint=https%3A%2F%2Fs3.example%2F", { endpoint: "https://s3.example" }],
    ["s3://attic?sse=AES256", { encryption: { type: "AES256" } }],
    ["s3://attic?sse=aws:kms", { encryption: { type: "aws:kms" } }],
    [
      "s3://attic?sse=aws:kms&kms-key=arn:aws:kms:x:1:key/2",
      { encryption: { type: "aws:kms", keyId: "arn:aws:kms:x:1:key/2" } },
    ],
    ["s3://attic?sse-c-key=a+b.key", { encryption: { type: "SSE-C", key: { file: "a+b.key" } } }],
  ])("%s", (url, expected) => {
    expect(parse(url)).toMatchObject(expected);
  });

  test("takes an SSE-C key from the environment unless the URL sets the encryption", () => {
    const env = { IDK_SSE_C_KEY: HEX };
    const key = new Uint8Array(Buffer.from(HEX, "hex"));
    expect(parse("s3://attic", env)).toMatchObject({ encryption: { type: "SSE-C" } });
    const location = parse("s3://attic", env);
    if (location.kind !== "s3" || location.encryption?.type !== "SSE-C") throw new Error("SSE-C");
    expect(new Uint8Array(location.encryption.key as Uint8Array)).toEqual(key);
    expect(parse("s3://attic?sse=AES256", env)).toMatchObject({ encryption: { type: "AES256" } });
  });
});

describe("minio", () => {
  const url = "minio://127.0.0.1:9000/attic";
  test.each<[url: string, env: Record<string, string>, expected: object]>([
    [
      url,
      MINIO,
      {
        kind: "minio",
        host: "127.0.0.1",
        port: 9000,
        tls: false,
        plaintext: false,
        bucket: "attic",
        accessKey: "ada",
        secretKey: SECRET,
      },
    ],
    ["minio://storage.example/attic", MINIO, { tls: true, plaintext: false }],
    ["minio://10.0.0.1:9000/attic", MINIO, { tls: true, plaintext: false }],
    ["minio://127.evil.example/attic", MINIO, { tls: true, plaintext: false }],
    ["minio://localhost.evil.example/attic", MINIO, { tls: true, plaintext: false }],
    ["minio://localhost:9000/attic", MINIO, { tls: false, plaintext: false }],
    ["minio://LOCALHOST/attic", MINIO, { tls: false, plaintext: false }],
    ["minio://127.9.8.7/attic", MINIO, { tls: false, plaintext: false }],
    ["minio://[::1]/attic", MINIO, { tls: false, plaintext: false }],
    ["minio://[::2]/attic", MINIO, { tls: true, plaintext: false }],
    ["minio://storage.example/attic?tls=0", MINIO, { tls: false, plaintext: true }],
    [
      "minio://storage.example/attic",
      { ...MINIO, MINIO_USE_SSL: "0" },
      { tls: false, plaintext: true },
    ],
    [
      "minio:///attic",
      { ...MINIO, MINIO_ENDPOINT: "http://storage.example:9000" },
      { tls: false, plaintext: true },
    ],
    [
      "minio:///attic",
      { ...MINIO, MINIO_ENDPOINT: "storage.example:9000" },
      { tls: true, plaintext: false },
    ],
    [`${url}/deep/er?tls=1`, MINIO, { bucket: "attic", prefix: "deep/er", tls: true }],
    ["minio://[::1]:9000/attic", MINIO, { host: "[::1]", port: 9000 }],
    ["minio://host/attic", { ...MINIO, MINIO_PORT: "9001" }, { host: "host", port: 9001 }],
    [url, { ...MINIO, MINIO_PORT: "9001", MINIO_USE_SSL: "true" }, { port: 9000, tls: true }],
    [`${url}?tls=0`, { ...MINIO, MINIO_USE_SSL: "true" }, { tls: false }],
    ["minio:///attic", { ...MINIO, MINIO_ENDPOINT: "here:9002" }, { host: "here", port: 9002 }],
    [
      "minio:///attic/x",
      { ...MINIO, MINIO_ENDPOINT: "here", MINIO_PORT: "1" },
      { host: "here", port: 1, bucket: "attic", prefix: "x" },
    ],
    [
      "minio:///attic",
      { ...MINIO, MINIO_ENDPOINT: "https://here:9002/" },
      { host: "here", port: 9002, tls: true },
    ],
    [url, { ...MINIO, IDK_RETRY_SECONDS: "0.5" }, { retrySeconds: 0.5 }],
    [url, { ...MINIO, MINIO_SESSION_TOKEN: "token" }, { sessionToken: "token" }],
    [url, { ...MINIO, MINIO_SESSION_TOKEN: "" }, { sessionToken: undefined }],
  ])("%s with %o", (url, env, expected) => {
    expect(parse(url, env)).toMatchObject(expected);
  });
});

describe("b2", () => {
  test.each<[url: string, env: Record<string, string>, expected: object]>([
    [
      "b2://attic?region=us-east-005",
      B2,
      { kind: "b2", bucket: "attic", region: "us-east-005", accessKeyId: "005ada" },
    ],
    [
      "b2://",
      { ...B2, B2_BUCKET: "cellar", B2_ENDPOINT: "s3.us-east-005.backblazeb2.com" },
      { bucket: "cellar", endpoint: "https://s3.us-east-005.backblazeb2.com" },
    ],
    ["b2:///a/b?region=r", { ...B2, B2_BUCKET: "cellar" }, { bucket: "cellar", prefix: "a/b" }],
    [
      "b2://attic/a?region=eu-central-003",
      { ...B2, B2_ENDPOINT: "https://s3.us-east-005.backblazeb2.com" },
      { bucket: "attic", prefix: "a", region: "eu-central-003", endpoint: undefined },
    ],
  ])("%s with %o", (url, env, expected) => {
    expect(parse(url, env)).toMatchObject(expected);
  });
});

describe("refused", () => {
  test.each<[url: string, message: string | RegExp, env?: Record<string, string>]>([
    ["", "got an empty string"],
    ["s4://attic", 'does not support "s4:" (did you mean s3:?)'],
    ["https://attic.s3.amazonaws.com", 'does not support "https:"'],
    ["constructor://x", 'does not support "constructor:"'],
    ["s3:attic", "must have the form s3://BUCKET"],
    ["s3://attic#part", "must have the form s3://BUCKET"],
    ["s3://", "names no bucket"],
    ["s3:///attic", "names no bucket"],
    ["s3://attic?regoin=x", 'unknown parameter "regoin" (did you mean region?)'],
    ["s3://attic?colour=x", /"colour"; parameters are endpoint, region, sse, kms-key, sse-c-key$/u],
    ["s3://attic?Region=x", /did you mean region\?/u],
    ["s3://attic?AKIAIOSFODNN7EXAMPLE", /unknown parameter;|credentials/u],
    ["s3://attic?region", "gives the parameter region no value"],
    ["s3://attic?region=a&region=b", "gives the parameter region twice"],
    ["s3://attic?region=%zz", "contains a %"],
    ["s3://attic/%0a", "control character"],
    ["s3://attic?sse=aes", "must have AES256 or aws:kms"],
    ["s3://attic?kms-key=x", "kms-key without sse=aws:kms"],
    ["s3://attic?sse=AES256&sse-c-key=f", "exclude each other"],
    ["s3://attic?endpoint=http://h/path", "nothing after the host"],
    ["s3://attic", "64 hexadecimal digits in IDK_SSE_C_KEY", { IDK_SSE_C_KEY: SECRET }],
    ["s3://attic", "IDK_RETRY_SECONDS", { IDK_RETRY_SECONDS: "long" }],
    ["minio://h:1", "names no bucket", MINIO],
    ["minio:///attic", "names no host", MINIO],
    ["minio://h:99999/attic", "no port from 1 to 65535", MINIO],
    ["minio://h:x/attic", "names no HOST or HOST:PORT", MINIO],
    ["minio://h:1/attic?tls=perhaps", "must have 1 or 0 for tls", MINIO],
    ["minio://h:1/attic?region=x", 'unknown parameter "region"', MINIO],
    ["minio://h:1/attic", /MINIO_ACCESS_KEY is not set.*MINIO_SECRET_KEY/u, {}],
    ["minio://h:1/attic", "MINIO_SECRET_KEY is not set", { MINIO_ACCESS_KEY: "ada" }],
    ["b2://", "B2_BUCKET", B2],
    ["b2://attic", "B2_ENDPOINT", B2],
    ["b2://attic?region=r&sse=aws:kms", "which B2 does not support", B2],
    ["b2://attic?region=r", "B2_ACCESS_KEY_ID is not set", {}],
  ])("%s", (url, message, env = ALL) => {
    expect(() => parse(url, env)).toThrow(message);
  });

  test.each([
    `s3://ada:${SECRET}@attic`,
    `s3://attic?access-key=${SECRET}`,
    `s3://attic?secret=${SECRET}`,
    `s3://attic?X-Amz-Security-Token=${SECRET}`,
    `s3://attic?endpoint=http://ada:${SECRET}@h`,
    `minio://ada:${SECRET}@h:1/attic`,
    `minio://h:1/attic?password=${SECRET}`,
    `b2://ada:${SECRET}@attic`,
  ])("credentials: %s", (url) => {
    let message = "";
    try {
      parse(url);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/takes no credentials in .*: set [A-Z0-9_]+_KEY/u);
    expect(message).not.toContain(SECRET);
  });

  test("what is too long for a scheme, which may be a secret before its colon", () => {
    const pasted = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY";
    expect(() => parse(`${pasted}:token`)).toThrow(
      /^does not support this scheme; supported are a folder/u,
    );
  });
});
