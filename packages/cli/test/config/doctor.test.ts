import { memory } from "@idk/storage/memory";
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../../src/doctor/check.ts";
import { checkStore } from "../../src/doctor/store.ts";
import { createWorkspace, isolated, newFolder, runIdk } from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";
import { writeProtected } from "../support/protected.ts";

const workspace = await createWorkspace();
const { idk, ok, path, recipient } = workspace;
mkdirSync(path("blobs"));
const home = newFolder();

const checksOf = (stdout: string): Check[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Check);

async function doctor(args: readonly string[] = [], env: Record<string, string> = {}) {
  const result = await idk(["doctor", "--json", ...args], { env: { HOME: home, ...env } });
  const checks = checksOf(result.stdout);
  return { ...result, checks, of: (name: string) => checks.filter(({ check }) => check === name) };
}

describe("doctor", () => {
  test("passes on a working setup and leaves nothing behind", async () => {
    const { code, stdout, stderr } = await ok(["doctor"], { env: { HOME: home } });
    const pattern = [
      `ok       runtime        Bun ${Bun.version} on ${process.platform} ${process.arch}`,
      /(?:ok|warning) {2,7}crypto {9}(?:native|portable): .*(?:\n {24}→ .*)?/u.source,
      "ok       configuration  no file; create one with `idk init`",
      /ok {7}threads {8}(?:none|\d+) for large files, \d+ cores?/u.source,
      /ok {7}journals {7}for interrupted puts: .*idk/u.source,
      `ok       identity       file me.key: ${recipient}`,
      "ok       recipients     1 recipient, including you",
      "ok       store          filesystem blobs: reachable, credentials, write, read, list, delete",
      /ok {7}round trip {5}read back a test blob; [\d.e-]+ ms per request/u.source,
      "ok       capabilities   basic storage, which is enough",
    ];
    expect(stdout).toMatch(new RegExp(`^${pattern.join("\n")}\n$`, "u"));
    expect(stderr).toMatch(/^(?:all checks passed|no failures; 1 warning)\n$/u);
    expect(code).toBe(0);
    expect((await ok(["ls"])).stdout).toBe("");
  });

  test("with --read-only writes nothing", async () => {
    const before = readdirSync(path("blobs"), { recursive: true });
    const { stdout } = await ok(["doctor", "--read-only"], { env: { HOME: home } });
    expect(stdout).toContain("filesystem blobs: reachable, credentials, list\n");
    expect(stdout).toContain("round trip     not tested (--read-only); ");
    expect(readdirSync(path("blobs"), { recursive: true })).toEqual(before);
  });

  test("warns without a setup, and says how to create one", async () => {
    const { stdout, stderr, code } = await runIdk(["doctor"], {
      cwd: newFolder(),
      env: isolated({ HOME: home }),
    });
    for (const check of ["identity", "recipients", "store"]) {
      expect(stdout).toMatch(new RegExp(`^warning  ${check} +none.*\n {24}→ .*\`idk init\``, "mu"));
    }
    expect(stderr).toMatch(/^no failures; [34] warnings\n$/u);
    expect(code).toBe(0);
  });

  test("warns of key files that others can read, and does not open protected ones", async () => {
    workspace.write("open.key", workspace.read("me.key"));
    chmodSync(path("open.key"), 0o644);
    const open = await doctor(["-i", "open.key"]);
    expect(open.of("identity")).toEqual([
      {
        check: "identity",
        status: "warning",
        message: "file open.key: other users can read it",
        remedy: "chmod 600 open.key",
      },
    ]);
    expect([open.code, open.stderr]).toEqual([0, ""]);
    expect(open.of("recipients")[0]!.message).toEndWith("including you");

    const IDK_PASSPHRASE = "correct horse battery staple";
    await writeProtected(path("protected.key"), IDK_PASSPHRASE);
    const shut = await doctor(["-i", "protected.key"]);
    expect(shut.of("identity")[0]!.message).toBe(
      "file protected.key: protected by a passphrase, not opened",
    );
    const opened = await doctor(["-i", "protected.key"], { IDK_PASSPHRASE });
    expect(opened.of("identity")[0]!.message).toContain(": idk1");
    const wrong = await doctor(["-i", "protected.key"], { IDK_PASSPHRASE: "wrong" });
    expect(wrong.of("identity")[0]).toMatchObject({ status: "failed", code: "passphrase" });
    expect(wrong.code).toBe(4);
  });

  test("warns if the user is not a recipient", async () => {
    const other = (await ok(["keygen", "-o", "other.key"])).stdout.trim();
    const { of, code } = await doctor(["-r", other]);
    expect(of("recipients")[0]).toMatchObject({
      status: "warning",
      message: "1 recipient: you will not be able to read what you store",
    });
    expect(code).toBe(0);
  });

  test("continues after failures, and exits with the worst code", async () => {
    const found = await doctor(["-i", "nowhere.key", "--workers", "99"], {
      IDK_STORE: "no-such-folder",
      IDK_RECIPIENTS: "idk1bad",
    });
    for (const check of ["threads", "identity", "recipients", "reachable"]) {
      expect(found.of(check)).toEqual([
        expect.objectContaining({ status: "failed", remedy: expect.stringMatching(/.{10}/u) }),
      ]);
    }
    expect(JSON.parse(found.stderr)).toMatchObject({
      error: { message: expect.stringMatching(/^4 of \d+ checks failed$/u) },
    });
    expect(found.code).toBe(6);
    const misspelt = await doctor([], { IDK_STORE: "ftp://x" });
    expect(misspelt.of("store")[0]).toMatchObject({ status: "failed", code: "usage" });
    expect(misspelt.code).toBe(2);
  });

  test("checks the configuration file", async () => {
    const config = newFolder();
    const file = join(config, "config.toml");
    writeFileSync(file, '[store.work]\nurl = "blobs"\n');
    chmodSync(file, 0o666);
    const open = await doctor(["--config", file], { IDK_STORE: "./blobs" });
    expect(open.of("configuration")[0]).toMatchObject({
      status: "failed",
      code: "usage",
      message: expect.stringContaining(`run chmod go-w ${file}`),
    });
    chmodSync(file, 0o600);
    writeFileSync(file, "colour = 1\n");
    const wrong = await doctor(["--config", file], { IDK_STORE: "./blobs" });
    expect(wrong.of("configuration")[0]).toMatchObject({ status: "failed", code: "usage" });
    expect(wrong.code).toBe(2);
  });
});

describe("the store checks", () => {
  test.each<[ahead: number, status: string, message: string]>([
    [1000, "ok", "matches the store's clock"],
    [-30_000, "ok", "this machine is 30 s behind the store"],
    [120_000, "warning", "this machine is 120 s ahead of the store; it rejects requests"],
    [-960_000, "failed", "this machine is 960 s behind the store"],
  ])("a clock that is %p ms ahead is %s", async (ahead, status, message) => {
    const backend = { ...memory(), clockAheadMs: () => ahead };
    const location = { kind: "filesystem", folder: "x", durability: "full" } as const;
    const { signal } = new AbortController();
    const checks = await checkStore(backend, location, { readOnly: false }, signal);
    const clock = checks.find(({ check }) => check === "clock");
    expect(clock?.status).toBe(status as Check["status"]);
    expect(clock?.message).toStartWith(message);
  });

  test("names a clock that makes the store reject all requests", async () => {
    const date = new Date(Date.now() - 20 * 60_000).toUTCString();
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(null, { status: 403, headers: { date } }),
    });
    const url = `s3://bucket?endpoint=${server.url.origin}&region=us-east-1`;
    const env = { AWS_ACCESS_KEY_ID: "access-key", AWS_SECRET_ACCESS_KEY: "secret-key" };
    const { of, code, stdout } = await doctor(["--store", url], env);
    expect(of("clock")[0]).toMatchObject({ status: "failed", code: "permission" });
    expect(of("credentials")[0]!.message).toContain("the clock of this machine is");
    expect(code).toBe(6);
    expectNoCredentials({ stdout, stderr: "" }, env);
    void server.stop(true);
  });
});

await describeMinio("doctor on MinIO", (minio, bucket) => {
  test("passes and leaves nothing behind", async () => {
    const env = { ...minio.env, IDK_STORE: minio.url(bucket, "/well") };
    const found = await doctor([], env);
    expectNoCredentials(found, env);
    expect(found.checks.every(({ status }) => status !== "failed")).toBe(true);
    expect(found.of("clock")[0]).toMatchObject({ status: "ok" });
    expect(found.of("capabilities")[0]!.message).toStartWith("verifies SHA-256");
    expect(found.code).toBe(0);
    expect(await minio.listKeys(bucket)).toEqual([]);
    const reading = await doctor(["--read-only"], env);
    expect(reading.of("store")[0]!.message).toEndWith(": reachable, credentials, list");
  });

  test("reports wrong credentials and a missing bucket", async () => {
    const env = { ...minio.env, MINIO_SECRET_KEY: "wrong-wrong-wrong" };
    const wrong = await doctor([], { ...env, IDK_STORE: minio.url(bucket) });
    expectNoCredentials(wrong, env);
    expect(wrong.of("credentials")[0]).toMatchObject({
      status: "failed",
      code: "permission",
      remedy: expect.stringContaining("MINIO_SECRET_KEY"),
    });
    expect(wrong.of("capabilities")).toEqual([]);
    const missing = minio.url("idk-cli-no-such-bucket");
    const gone = await doctor([], { ...minio.env, IDK_STORE: missing });
    expect(gone.of("reachable")[0]).toMatchObject({ status: "failed", code: "unavailable" });
    expect(gone.code).toBe(6);
  });
});
