import { describe, expect, test } from "bun:test";
import { needs } from "../../../../tests/servers/needs.ts";
import { minio, type MinioOptions } from "../../src/backend/minio.ts";
import { bucketForAll, NAME, OTHER } from "./s3-setting.ts";

const BYTES = Buffer.from("opaque bytes");
const KEYS = { bucket: "bucket", accessKey: "access", secretKey: "secret" };

describe("the address of a MinIO", () => {
  test.each([
    [{ endpoint: "http://minio.example:9010" }, "http://minio.example:9010"],
    [{ host: "minio.example" }, "https://minio.example:9000"],
    [{ host: "minio.example", port: 443 }, "https://minio.example"],
    [{ host: "::1".replace(/.*/u, "[$&]"), port: 9, tls: false }, "http://[::1]:9"],
  ] satisfies [Partial<MinioOptions>, string][])("%p is %p", (options, endpoint) => {
    expect(minio({ ...KEYS, ...options }).description).toBe(`minio bucket at ${endpoint}`);
  });

  test("is given in one way", () => {
    expect(() => minio(KEYS)).toThrow("either an endpoint, or a host");
    expect(() => minio({ ...KEYS, host: "a", endpoint: "https://a" })).toThrow("either");
  });
});

needs("minio")("a blob on MinIO", () => {
  const bucket = bucketForAll();
  const open = (options: Partial<MinioOptions> = {}) => {
    const { name, server } = bucket();
    return minio({
      bucket: name,
      endpoint: server.endpoint,
      accessKey: server.accessKeyId,
      secretKey: server.secretAccessKey,
      ...options,
    });
  };

  test("is encrypted at rest where that is asked for, and says so", async () => {
    const encrypted = open({ encryption: { type: "AES256" } });
    await encrypted.put(NAME, BYTES);
    await open().put(OTHER, BYTES);
    expect((await encrypted.head(NAME))?.encryption).toBe("AES256");
    expect((await encrypted.head(OTHER))?.encryption).toBeUndefined();
    expect((await encrypted.capabilities!()).encryption).toBe("AES256");
    expect((await open().capabilities!()).encryption).toBeUndefined();
    const buffer = Buffer.alloc(BYTES.length);
    // Who may read gets it decrypted without asking.
    await open().get(NAME, buffer);
    expect(buffer).toEqual(BYTES);
  });

  test("keeps its hash with encryption too", async () => {
    const encrypted = open({ encryption: { type: "AES256" } });
    await encrypted.put(NAME, BYTES);
    expect((await encrypted.head(NAME))?.sha256).toBe(
      new Bun.CryptoHasher("sha256").update(BYTES).digest("hex"),
    );
  });
});
