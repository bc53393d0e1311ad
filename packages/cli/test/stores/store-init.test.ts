import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { createWorkspace, expectFailure } from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;

test("creates a folder once, accessible to its owner only", async () => {
  expect((await ok(["store", "init", "a/b"])).stdout).toBe("created  folder a/b\n");
  expect(statSync(path("a/b")).mode & 0o777).toBe(0o700);
  const { stdout } = await ok(["store", "init", "a/b", "--json"]);
  expect(JSON.parse(stdout)).toEqual({ made: [], there: ["folder"] });
  expect((await ok(["ls", "--store", "a/b"])).stdout).toBe("");
});

test.each<[args: string[], message: string]>([
  [["a", "--versioning"], "a folder has no versioning"],
  [["me.key"], "cannot create the folder me.key"],
  [["a", "--lifecycle-days", "0"], "--lifecycle-days must be a number of days"],
  [["a", "--default-sse", "aes"], "--default-sse must be AES256 or aws:kms"],
  [["a", "--kms-key", "k"], "--kms-key needs --default-sse aws:kms"],
  [["a", "--default-sse", "AES256", "--kms-key", "k"], "--kms-key needs"],
  [["a", "--default-sse", "aws:kms", "--kms-key", ""], "--kms-key must not be empty"],
  [["a", "--default-sse", "aws:kms"], "a folder has no versioning, locks, encryption"],
  [["a", "--cors", "https://example.com"], "encryption settings or CORS rules"],
  [["s4://a"], 'URL or IDK_STORE does not support "s4:"'],
])("idk store init %p", async (args, message) => {
  expectFailure(await idk(["store", "init", ...args]), 2, message);
});

await describeMinio("a bucket in MinIO", (minio) => {
  const { env } = minio;

  test("allows pages, as the server does for all buckets", async () => {
    const url = minio.url(minio.newBucketName());
    const args = ["store", "init", url, "--cors", "https://example.com", "--json"];
    const { stdout } = await ok(args, { env });
    expect(JSON.parse(stdout)).toEqual({ made: ["bucket"], there: ["cors"] });
    const wrong = await idk(["store", "init", url, "--cors", "example.com/open"], { env });
    expectFailure(wrong, 2, "the origin of a page is https://HOST[:PORT]");
  });

  test("is created once, with the given settings", async () => {
    const bucket = minio.newBucketName();
    const url = minio.url(bucket, "/attic");
    const args = ["store", "init", url, "--versioning", "--lifecycle-days", "7"];
    const first = await ok([...args, "--default-sse", "AES256", "--json"], { env });
    expectNoCredentials(first, env);
    expect(JSON.parse(first.stdout)).toEqual({
      made: ["bucket", "versioning", "lifecycle", "default encryption"],
      there: [],
    });
    expect(await minio.getBucketConfig(bucket, "versioning")).toContain("Enabled");
    expect(await minio.getBucketConfig(bucket, "lifecycle")).toContain(
      "<NoncurrentDays>7</NoncurrentDays>",
    );
    expect(await minio.getBucketConfig(bucket, "encryption")).toContain("AES256");
    const again = await ok([...args, "--default-sse", "AES256", "--json"], { env });
    expect(JSON.parse(again.stdout)).toEqual({
      made: [],
      there: ["bucket", "versioning", "lifecycle", "default encryption"],
    });

    // idk removes all versions.
    const checked = await ok(["store", "check", url, "--json"], { env });
    expect(JSON.parse(checked.stdout)).toMatchObject({ versions: true, encryption: "AES256" });
    expect(await minio.getBucketConfig(bucket, "versions")).not.toContain("<VersionId>");
  });

  test("encrypts with a key of the key service", async () => {
    const bucket = minio.newBucketName();
    const init = async (...flags: string[]) =>
      JSON.parse(
        (await ok(["store", "init", minio.url(bucket), ...flags, "--json"], { env })).stdout,
      );
    const key = await minio.kmsKey(await minio.createBucket());
    const kms = ["--default-sse", "aws:kms", "--kms-key", key];
    expect(await init(...kms)).toEqual({ made: ["bucket", "default encryption"], there: [] });
    expect(await init(...kms)).toEqual({ made: [], there: ["bucket", "default encryption"] });
    const config = await minio.getBucketConfig(bucket, "encryption");
    expect(config).toContain("<SSEAlgorithm>aws:kms</SSEAlgorithm>");
    expect(config).toContain(`<KMSMasterKeyID>${key}</KMSMasterKeyID>`);
    const checked = await ok(["store", "check", minio.url(bucket), "--json"], { env });
    expect(JSON.parse(checked.stdout)).toMatchObject({ encryption: "aws:kms" });
  });

  test("is not created without a key ID", async () => {
    const bucket = minio.newBucketName();
    const args = ["store", "init", minio.url(bucket), "--default-sse", "aws:kms"];
    expectFailure(await idk(args, { env }), 2, "pass the ID of a key in its key management");
    const asked = await minio.getBucketConfig(bucket, "versioning").catch(String);
    expect(asked).toContain("NoSuchBucket");
  });

  test("is created with temporary credentials", async () => {
    const bucket = minio.newBucketName();
    const temporary = await minio.assumeRole(
      JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          {
            Effect: "Allow",
            Action: "s3:*",
            Resource: [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`],
          },
        ],
      }),
    );
    const args = ["store", "init", minio.url(bucket), "--versioning"];
    const result = await ok(args, { env: temporary });
    expectNoCredentials(result, temporary);
    expect(result.stdout).toBe(`created  bucket ${bucket}\ncreated  versioning\n`);
    const { MINIO_SESSION_TOKEN: _, ...tokenless } = temporary;
    expectFailure(await idk(args, { env: tokenless }), 6, "");
  });

  test("gets object lock only when it is created", async () => {
    const [locked, plain] = [minio.newBucketName(), minio.newBucketName()];
    const lock = (bucket: string) =>
      idk(["store", "init", minio.url(bucket), "--object-lock", "--json"], { env });
    expect(JSON.parse((await lock(locked)).stdout)).toEqual({
      made: ["bucket", "object lock"],
      there: [],
    });
    await ok(["store", "init", minio.url(plain)], { env });
    const late = await lock(plain);
    expect(JSON.parse(late.stderr)).toMatchObject({ error: { code: "usage" } });
    expect(late.code).toBe(2);
  });

  test("is not created with wrong credentials", async () => {
    const wrong = { ...env, MINIO_SECRET_KEY: "wrong-secret-key" };
    const result = await idk(["store", "init", minio.url(minio.newBucketName())], { env: wrong });
    expectNoCredentials(result, wrong);
    expectFailure(result, 6, /secret key|credentials/u);
  });
});
