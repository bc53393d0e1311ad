import { NO_STORE, chooseStore, readStoreUrl } from "../../src/command/store-url.ts";
import { describe, expect, test } from "bun:test";

const MINIO = { MINIO_ACCESS_KEY: "me", MINIO_SECRET_KEY: "sesame" };
const B2 = { B2_ACCESS_KEY_ID: "we", B2_SECRET_ACCESS_KEY: "sesame" };
const B2_URL = "https://s3.us-west-004.backblazeb2.com";
const AWS = { AWS_ACCESS_KEY_ID: "you", AWS_SECRET_ACCESS_KEY: "sesame" };

describe("where suites find an object store", () => {
  test.each<[url: string, env: Record<string, string>, endpoint: string, place: string]>([
    ["minio://host:9001/b/p/q", MINIO, "https://host:9001", "b p/q/"],
    ["minio://host/b", MINIO, "https://host:9000", "b "],
    ["minio://host/b?tls=1", MINIO, "https://host:9000", "b "],
    ["minio://host/b", { ...MINIO, MINIO_USE_SSL: "true" }, "https://host:9000", "b "],
    ["minio:///b", { ...MINIO, MINIO_ENDPOINT: "http://h:1" }, "http://h:1", "b "],
    ["minio:///b", { ...MINIO, MINIO_ENDPOINT: "https://h/" }, "https://h:9000", "b "],
    ["minio:///b", { ...MINIO, MINIO_ENDPOINT: "h", MINIO_PORT: "7" }, "https://h:7", "b "],
    ["s3://b/p?endpoint=http://h:1", AWS, "http://h:1", "b p/"],
    ["s3://b?endpoint=h", AWS, "https://h", "b "],
    ["s3://b?region=eu-north-1", AWS, "https://s3.eu-north-1.amazonaws.com", "b "],
    ["s3://b", { ...AWS, AWS_REGION: "eu-west-1" }, "https://s3.eu-west-1.amazonaws.com", "b "],
    ["b2://b/p?region=us-west-004", B2, B2_URL, "b p/"],
    ["b2://b", { ...B2, B2_ENDPOINT: "s3.us-west-004.backblazeb2.com" }, B2_URL, "b "],
    ["b2://", { ...B2, B2_BUCKET: "b", B2_ENDPOINT: B2_URL }, B2_URL, "b "],
    ["b2://b", { ...B2, B2_ENDPOINT: "http://h:1", B2_REGION: "r" }, "http://h:1", "b "],
  ])("%s with %p", (url, env, endpoint, place) => {
    const access = readStoreUrl(url, env);
    expect([access.endpoint, `${access.bucket} ${access.prefix}`]).toEqual([endpoint, place]);
    expect(access.secretAccessKey).toBe("sesame");
  });

  test.each<[url: string, env: Record<string, string>, message: string]>([
    ["minio://host/b", {}, "MINIO_ACCESS_KEY is not set (it goes with MINIO_SECRET_KEY)"],
    ["minio://host/b", { ...MINIO, MINIO_SESSION_TOKEN: "x" }, "temporary keys cannot be used"],
    ["minio:///b", MINIO, "names no host"],
    ["minio://ho st/b", MINIO, "names no HOST or HOST:PORT"],
    ["minio://host/b/../c", MINIO, "letters, digits"],
    ["s3://b?endpoint=h/x", AWS, "nothing after the host"],
    ["s3://b", AWS, "names no region"],
    ["s3://b?region=r", {}, "AWS_ACCESS_KEY_ID is not set"],
    ["s3://b?region=r&sse=AES256", AWS, "takes no encryption"],
    ["b2://b?region=r", {}, "B2_ACCESS_KEY_ID is not set (it goes with B2_SECRET_ACCESS_KEY)"],
    ["b2://b", B2, "names no region"],
    ["b2://b", { ...B2, B2_ENDPOINT: "http://h:1" }, "set B2_REGION"],
    ["b2://?region=r", B2, "names no bucket"],
    ["b2://b?region=r&sse=AES256", B2, "takes no encryption"],
    ["file:///b", {}, "--store takes s3://"],
    ["s3://b?region=r", { ...AWS, AWS_SESSION_TOKEN: "x" }, "AWS_SESSION_TOKEN is set"],
  ])("%s with %p is refused", (url, env, message) => {
    expect(() => readStoreUrl(url, env)).toThrow(message);
  });

  test("the provider decides what requests may contain", () => {
    const providers = [
      readStoreUrl("b2://b?region=us-west-004", B2),
      readStoreUrl("minio://host/b", MINIO),
      readStoreUrl("s3://b?region=r", AWS),
    ].map(({ provider, region }) => [provider, region]);
    expect(providers).toEqual([
      ["b2", "us-west-004"],
      ["minio", "us-east-1"],
      [undefined, "r"],
    ]);
  });

  test("without a URL, the variables of MinIO name a server", () => {
    const env = { ...MINIO, MINIO_ENDPOINT: "http://127.0.0.1:9000" };
    expect(chooseStore(undefined, env)).toMatchObject({
      kind: "server",
      server: { endpoint: "http://127.0.0.1:9000", accessKeyId: "me" },
    });
    // An empty one, as in a .env that was not filled in, counts as none.
    expect(chooseStore(undefined, { MINIO_ENDPOINT: "" })).toEqual({
      kind: "none",
      reason: NO_STORE,
    });
  });
});
