import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import {
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  noise,
  sameBytes,
  until,
} from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

const MISSING = "f".repeat(64);
const KIB = 2 ** 10;

const workspace = await createWorkspace();
const { idk, ok, put, path } = workspace;

const content = noise(2 ** 20 + 1);
const tree = await put(content, "--chunk-size", "256K");
const small = await put("small");
const blobsIn = (store: string): string[] =>
  existsSync(path(store))
    ? readdirSync(path(store), { recursive: true })
        .map((name) => String(name).split("/").at(-1)!)
        .filter((name) => /^[0-9a-f]{64}$/u.test(name))
        .toSorted()
    : [];
const all = blobsIn("blobs");
const chunk = all.find((name) => name !== tree && name !== small)!;

describe("between folders", () => {
  test("copies everything without a key, and nothing twice", async () => {
    const env = { IDK_IDENTITY: "", IDK_RECIPIENTS: "" };
    const args = ["copy", "--from", "blobs", "--to", "all"];
    const first = await ok(args, { env });
    expect(first.stdout).toBe("");
    expect(first.stderr).toMatch(/^copied 7 blobs, \d+ bytes .*; 0 already there; none failed\n$/u);
    expect(blobsIn("all")).toEqual(all);
    const again = await ok([...args, "--json"], { env });
    expect(JSON.parse(again.stdout)).toEqual({
      copied: 0,
      copiedBytes: 0,
      skipped: 7,
      failed: 0,
      withheld: 0,
      removed: 0,
    });
    const got = await ok(["get", tree, "--store", "all"]);
    expect(sameBytes(got.bytes, content)).toBe(true);
  });

  test("copies the named blobs, and with --tree their content", async () => {
    await ok(["copy", "--from", "blobs", "--to", "one", small, small]);
    expect(blobsIn("one")).toEqual([small]);
    const { stderr } = await ok(["copy", "--from", "blobs", "--to", "trees", "--tree", tree]);
    expect(stderr).toStartWith("copied 6 blobs");
    expect(blobsIn("trees")).toEqual(all.filter((name) => name !== small));
    await ok(["verify", "--deep", tree, "--store", "trees"]);
  });

  test("reports a damaged blob and does not copy it", async () => {
    const original = readFileSync(workspace.blob(chunk));
    const damaged = Uint8Array.from(original);
    damaged[damaged.length >> 1]! ^= 1;
    writeFileSync(workspace.blob(chunk), damaged);
    try {
      const result = await idk(["copy", "--from", "blobs", "--to", "most"]);
      expect(result.stdout).toMatch(new RegExp(`^${chunk} address: [^\\n]+\\n$`, "u"));
      expect(result.stderr).toMatch(/^copied 6 blobs.*; 1 failed\nidk: 1 of 7 blobs failed\n$/u);
      expect(result.code).toBe(5);
      expect(blobsIn("most")).toEqual(all.filter((name) => name !== chunk));

      // An incomplete tree has no root.
      const args = ["copy", "--from", "blobs", "--to", "whole", "--tree", tree, small, "--json"];
      const trees = await idk(args);
      const lines = trees.stdout.trim().split("\n");
      expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        { ok: false, address: chunk, error: { code: "address" } },
        { copied: 5, skipped: 0, failed: 1, withheld: 1 },
      ]);
      expect(trees.code).toBe(5);
      expect(blobsIn("whole")).not.toContain(tree);
      expect(blobsIn("whole")).toContain(small);
    } finally {
      writeFileSync(workspace.blob(chunk), original);
    }
    await ok(["copy", "--from", "blobs", "--to", "most"]);
    expect(blobsIn("most")).toEqual(all);
  });

  test("replaces garbage at the target, with --trust-size too, and a single wrong byte", async () => {
    await ok(["copy", "--from", "blobs", "--to", "planted"]);
    const file = path(`planted/${chunk.slice(0, 2)}/${chunk}`);
    const bytes = readFileSync(file);
    writeFileSync(file, new Uint8Array(bytes.length));
    const trusting = await ok(["copy", "--from", "blobs", "--to", "planted", "--trust-size"]);
    expect(trusting.stderr).toStartWith("copied 1 blob,");
    expect(readFileSync(file).equals(bytes)).toBe(true);
    bytes[100]! ^= 1;
    writeFileSync(file, bytes);
    const reading = await ok(["copy", "--from", "blobs", "--to", "planted"]);
    expect(reading.stderr).toStartWith("copied 1 blob,");
    await ok(["verify", "--store", "planted"]);
  });

  test("reports what is missing or cannot be decrypted", async () => {
    const missing = await idk(["copy", "--from", "blobs", "--to", "x", MISSING, small]);
    expect(missing.stdout).toStartWith(`${MISSING} not-found: `);
    expect(missing.stderr).toContain("copied 1 blob,");
    expect(missing.code).toBe(3);
    await ok(["keygen", "-o", "other.key"]);
    const other = await idk([
      "copy",
      "--from",
      "blobs",
      "--to",
      "x",
      "--tree",
      tree,
      "-i",
      "other.key",
    ]);
    expect(other.stdout).toStartWith(`${tree} no-match: `);
    expect(other.code).toBe(4);
  });

  test.each<[args: string[], code: number, message: string]>([
    [["--to", "x"], 2, "--from <url>' not specified"],
    [["--from", "blobs"], 2, "--to <url>' not specified"],
    [["--from", "blobs", "--to", "x", "--tree"], 2, "--tree needs addresses"],
    [["--from", "blobs", "--to", "s4://x"], 2, '--to does not support "s4:"'],
    [["--from", "nowhere", "--to", "x"], 6, "nowhere does not exist"],
    [["--from", "blobs", "--to", "me.key/x"], 2, "cannot create the folder"],
  ])("idk copy %p", async (args, code, message) => {
    expectFailure(await idk(["copy", ...args]), code, message);
  });
});

await describeMinio("between folders and MinIO", (minio, bucket) => {
  const env = minio.env;
  const there = minio.url(bucket, "/copies");

  test("copies there and back", async () => {
    const up = await ok(["copy", "--from", "blobs", "--to", there], { env });
    expectNoCredentials(up, env);
    expect((await minio.listKeys(bucket)).toSorted()).toEqual(all.map((name) => `copies/${name}`));
    // The second time, the server's checksums suffice.
    const again = await ok(["copy", "--from", "blobs", "--to", there], { env });
    expect(again.stderr).toContain("copied 0 blobs, 0 bytes; 7 already there; none failed");
    await ok(["copy", "--from", there, "--to", "back"], { env });
    expect(blobsIn("back")).toEqual(all);
    await ok(["verify", "--deep", "--store", "back"]);
  });

  test("reports a damaged object and does not copy it", async () => {
    const damaged = minio.url(bucket, "/damaged");
    await ok(["copy", "--from", "blobs", "--to", damaged], { env });
    await minio.putObject(bucket, `damaged/${chunk}`, "never was a blob");
    const result = await idk(["copy", "--from", damaged, "--to", "mended"], { env });
    expect(result.stdout).toMatch(new RegExp(`^${chunk} address: [^\\n]+\\n$`, "u"));
    expect(result.code).toBe(5);
    expect(blobsIn("mended")).toEqual(all.filter((name) => name !== chunk));
    // The damaged blob at the target is replaced.
    const mended = await ok(["copy", "--from", "blobs", "--to", damaged], { env });
    expect(mended.stderr).toContain("copied 1 blob,");
    await ok(["verify", "--store", damaged], { env });
  });

  test("a killed copy can be resumed", async () => {
    const many = { IDK_STORE: "many" };
    const address = (
      await ok(["put", "-", "--chunk-size", "256K"], { stdin: noise(40 * 256 * KIB, 7), env: many })
    ).stdout.trim();
    const total = blobsIn("many").length;
    const target = minio.url(bucket, "/killed");
    const child = Bun.spawn([process.execPath, MAIN, "copy", "--from", "many", "--to", target], {
      cwd: workspace.folder,
      env: isolated({ ...env }),
      stdout: "ignore",
      stderr: "ignore",
    });
    const arrived = async () =>
      (await minio.listKeys(bucket)).filter((key) => key.startsWith("killed/"));
    await until(async () => (await arrived()).length >= 10);
    child.kill("SIGKILL");
    await child.exited;
    const before = await arrived();
    // Without the root, it does not appear complete.
    if (before.length < total) expect(before).not.toContain(`killed/${address}`);
    const { stdout, stderr } = await ok(["copy", "--from", "many", "--to", target, "--json"], {
      env,
    });
    const { copied, skipped } = JSON.parse(stdout) as { copied: number; skipped: number };
    expect(copied + skipped).toBe(total);
    // A busy server may fail to return some of the blobs that are there, which are then sent again.
    expect(skipped, `${before.length} were there; ${stderr}`).toBeGreaterThan(before.length / 2);
    await ok(["verify", "--deep", address, "--store", target], { env });
  });
});
