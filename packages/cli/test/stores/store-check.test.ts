import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { createWorkspace, expectFailure } from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

const NEEDS = ["reachable", "credentials", "write", "read", "list", "delete"];

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;

/** The rows of the table. */
const rows = (stdout: string): Record<string, string> =>
  Object.fromEntries(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/ {2,}/u) as [string, string]),
  );

describe("a folder", () => {
  test("passes all checks and leaves nothing behind", async () => {
    mkdirSync(path("folder"));
    const { stdout, stderr } = await ok(["store", "check", "folder"]);
    const table = rows(stdout);
    for (const need of NEEDS) expect(table[need]).toBe("yes");
    expect(table).toMatchObject({
      store: "filesystem folder",
      checksums: "no: `idk verify` has to download every blob",
      versions: "no",
      "round trip": expect.stringMatching(/^[\d.]+ ms$/u),
    });
    expect(stderr).toBe("");
    const left = readdirSync(path("folder"), { recursive: true });
    expect(left.filter((name) => String(name).length >= 64)).toEqual([]);
  });

  test("fails if missing, and is not created", async () => {
    const { stdout, stderr, code } = await idk(["store", "check", "absent"]);
    expect(code).toBe(6);
    expect(rows(stdout)).toMatchObject({
      reachable: expect.stringMatching(/^NO: the folder .* does not exist/u),
      "": expect.stringContaining("idk store init"),
      write: "not tested",
      versions: "unknown",
    });
    expect(stderr).toBe("idk: 1 check failed\n");
    expect(readdirSync(workspace.folder)).not.toContain("absent");
  });

  test("defaults to IDK_STORE", async () => {
    expectFailure(await idk(["store", "check"], { env: { IDK_STORE: "" } }), 2, "no store");
    const { stdout } = await ok(["store", "check", "--json"], { env: { IDK_STORE: "folder" } });
    expect(JSON.parse(stdout)).toMatchObject({
      store: "filesystem folder",
      ok: true,
      delete: true,
      attestation: false,
      failures: [],
    });
  });
});

await describeMinio("a bucket in MinIO", (minio, bucket) => {
  const { env } = minio;
  const url = minio.url(bucket, "/checked");

  test("passes all checks", async () => {
    const result = await ok(["store", "check", url, "--json"], { env });
    expectNoCredentials(result, env);
    expect(JSON.parse(result.stdout)).toEqual({
      store: `minio ${bucket}/checked at ${minio.origin}`,
      ...Object.fromEntries(NEEDS.map((need) => [need, true])),
      ok: true,
      attestation: true,
      conditionalPut: true,
      versions: false,
      encryption: "",
      roundTripMs: expect.any(Number),
      failures: [],
    });
    expect(await minio.listKeys(bucket)).toEqual([]);
    const encrypted = await ok(["store", "check", `${url}?sse=AES256`], { env });
    expect(rows(encrypted.stdout)["encryption"]).toBe("AES256");
  });

  test("reports a wrong key with a remedy", async () => {
    const wrong = { ...env, MINIO_SECRET_KEY: "wrong-secret-key" };
    const result = await idk(["store", "check", url], { env: wrong });
    expectNoCredentials(result, wrong);
    expect(result.code).toBe(6);
    expect(rows(result.stdout)).toMatchObject({
      reachable: "yes",
      credentials: expect.stringMatching(/^NO: .*secret key/u),
      "": expect.stringContaining("MINIO_SECRET_KEY"),
      write: "not tested",
      checksums: "unknown",
    });
  });

  test("reports a missing bucket", async () => {
    const missing = minio.url("idk-cli-no-such-bucket");
    const result = await idk(["store", "check", missing, "--json"], { env });
    expect(JSON.parse(result.stdout)).toMatchObject({
      ok: false,
      reachable: false,
      write: null,
      failures: [{ check: "reachable", code: "unavailable" }],
    });
    expect(result.code).toBe(6);
  });

  test("reports what a policy denies, and leaves a valid test blob", async () => {
    const narrowed = await minio.assumeRole(
      JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          { Effect: "Allow", Action: "s3:PutObject", Resource: `arn:aws:s3:::${bucket}/narrow/*` },
        ],
      }),
    );
    const s3 = minio.s3Url(bucket, "/narrow");
    const result = await idk(["store", "check", s3, "--json"], { env: narrowed });
    expectNoCredentials(result, narrowed);
    expect(JSON.parse(result.stdout)).toMatchObject({
      credentials: true,
      write: true,
      read: false,
      list: false,
      delete: false,
      failures: [
        { check: "read", code: "permission", remedy: expect.stringContaining("s3:GetObject") },
        { check: "list", remedy: expect.stringContaining("s3:ListBucket") },
        { check: "delete", remedy: expect.stringContaining("s3:DeleteObject") },
      ],
    });
    expect(result.code).toBe(6);
    const [, left = ""] = /idk rm ([0-9a-f]{64})/u.exec(result.stderr) ?? [];
    const checked = await ok(["verify", "--store", minio.url(bucket, "/narrow")], { env });
    expect(checked.stderr).toStartWith("checked 1 blob,");
    await ok(["rm", left, "--store", minio.url(bucket, "/narrow")], { env });
  });
});

await describeMinio(
  "a server that ignores requests for encryption",
  (server, bucket) => {
    test("is detected", async () => {
      const env = server.awsEnv;
      const result = await idk(["store", "check", server.s3Url(bucket, "?sse=AES256")], { env });
      expect(rows(result.stdout)).toMatchObject({
        write: "yes",
        encryption: "NO: AES256 was requested, but the blob has none",
      });
      expect(result.code).toBe(6);
      await ok(["store", "check", server.s3Url(bucket)], { env });
    });
  },
  "versitygw",
);
