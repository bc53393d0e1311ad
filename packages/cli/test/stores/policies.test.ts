import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

/*
 * Tests the policies in docs/backends.md, with credentials that have no other permissions.
 */

const DOCUMENT = readFileSync(new URL("../../../../docs/backends.md", import.meta.url), "utf8");
const MISSING = "f".repeat(64);

const workspace = await createWorkspace();

function policyOf(user: string, bucket: string, prefix: string): string {
  const section = DOCUMENT.split(/^### /mu).find((part) => part.startsWith(`${user}\n`)) ?? "";
  const [, policy] = /^```json\n(.*?)^```/msu.exec(section) ?? [];
  if (policy === undefined) throw new Error(`docs/backends.md has no policy for ${user}`);
  return policy.replaceAll("BUCKET", bucket).replaceAll("PREFIX", prefix);
}

await describeMinio("the policies of the documentation", (minio, bucket) => {
  const inside = minio.url(bucket, "/attic");
  const asAny = minio.s3Url(bucket, "/attic");
  const outside = minio.url(bucket, "/cellar");

  const runAs = async (user: string) => {
    const env = await minio.assumeRole(policyOf(user, bucket, "attic"));
    return async (args: readonly string[], stdin = "") => {
      const result = await workspace.idk(args, {
        env: { ...env, IDK_STORE: inside, IDK_RETRY_SECONDS: "0" },
        stdin,
      });
      expectNoCredentials(result, env);
      return result;
    };
  };
  const asOwner = async (args: readonly string[], stdin: Uint8Array | string = "") => {
    const { stdout } = await workspace.ok(args, {
      env: { ...minio.env, IDK_STORE: inside },
      stdin,
    });
    return stdout.trim();
  };

  test("a producer can only store", async () => {
    const producer = await runAs("Producer");
    const { code, stdout, stderr } = await producer(["put", "-"], "from the field");
    expect([code, stderr]).toEqual([0, ""]);
    const address = stdout.trim();
    // The content is complete, which only others can check.
    expect(await asOwner(["get", address])).toBe("from the field");
    workspace.write("dedup", noise(32));
    expect((await producer(["put", "-", "--dedup-secret", "dedup"], "again")).code).toBe(0);

    // A write-only mirror is sent everything each time.
    await workspace.put("mirrored");
    for (let round = 0; round < 2; round += 1) {
      const mirrored = await producer(["copy", "--from", "blobs", "--to", inside]);
      expect([mirrored.code, mirrored.stderr]).toEqual([
        0,
        expect.stringMatching(/^copied 1 blob, .*; 0 already there; none failed\n$/u),
      ]);
    }

    for (const args of [
      ["get", address],
      ["stat", address],
      ["rm", address],
      ["ls"],
      ["verify"],
      ["rewrap", address],
      ["copy", "--from", inside, "--to", "stolen"],
    ]) {
      expectFailure(await producer(args), 6, /do not allow it/u);
    }
    expect((await producer(["verify", address])).code).toBe(6);
    expectFailure(await producer(["put", "-", "--store", outside]), 6, /do not allow it/u);
  });

  test("a reader can only fetch by address", async () => {
    const reader = await runAs("Reader");
    const address = await asOwner(["put", "-", "--chunk-size", "256K"], noise(2 ** 20 + 1));
    expect((await reader(["get", address])).code).toBe(0);
    expect((await reader(["get", address, "--range", "500000-500010"])).code).toBe(0);
    expect((await reader(["stat", address])).code).toBe(0);
    expect((await reader(["verify", "--deep", address])).code).toBe(0);
    const attested = await reader(["verify", "--attested", address]);
    expect(attested.code).toBe(0);

    // MinIO reports not found; Amazon S3 would deny access.
    expectFailure(await reader(["get", MISSING]), 3, MISSING);
    for (const args of [["ls"], ["verify"], ["put", "-"], ["rm", address], ["rewrap", address]]) {
      expectFailure(await reader(args), 6, /do not allow it/u);
    }
    await asOwner(["get", address]);
  });

  test("an auditor can check and copy everything, but change nothing", async () => {
    const auditor = await runAs("Auditor");
    const address = await asOwner(["put", "-"], "audited");
    const listed = await auditor(["ls"]);
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining(address)]);
    // A server must first prove that it verifies checksums, which needs a write.
    for (const url of [inside, asAny]) {
      const attested = await auditor(["verify", "--attested", "--store", url]);
      expect(attested.stderr).toMatch(/: 0 by server checksum, \d+ downloaded; none failed\n/u);
    }
    expect((await auditor(["verify"])).code).toBe(0);
    const copied = await auditor(["copy", "--from", inside, "--to", "copied"]);
    expect([copied.code, copied.stderr]).toEqual([0, expect.stringContaining("none failed")]);
    expectFailure(await auditor(["get", MISSING]), 3, MISSING);

    for (const args of [
      ["put", "-"],
      ["rm", address],
      ["ls", "--store", outside],
      ["get", address, "--store", outside],
    ]) {
      expectFailure(await auditor(args), 6, /do not allow it/u);
    }
  });
});
