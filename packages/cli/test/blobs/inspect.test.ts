import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

const workspace = await createWorkspace();
const { idk, ok, put, recipient } = workspace;
/** Inspecting needs no key, and reads none. */
const keyless = { IDK_IDENTITY: "nowhere.key", IDK_RECIPIENTS: "" };

const masked = (text: string): string =>
  text
    .replace(/^(ephemeral|commitment) +[0-9a-f]{64}$/gmu, "$1 HEX")
    .replace(/20\d\d-\S+Z/u, "TIME");

describe("inspect", () => {
  test("explains what is visible of a root", async () => {
    const bob = (await ok(["keygen", "-o", "bob.key"])).stdout.trim();
    const address = await put("hello, world", "--name", "hello", "-r", bob, "-r", recipient);
    const { stdout, stderr } = await ok(["inspect", address.slice(0, 8)], { env: keyless });
    expect(stderr).toBe("");
    expect(masked(stdout)).toBe(
      [
        `address     ${address}`,
        "kind        root: an address as `idk put` prints it",
        "format      idk, version 1",
        "stored      243 bytes",
        "header      179 bytes, not encrypted",
        "sealed      48 bytes",
        "            metadata, with content of up to 1 MiB or a list of chunks: 45 to 48 bytes",
        "recipients  2: the number is visible, their keys are not",
        "ephemeral HEX",
        "            a public key created for this root; reveals nothing about the recipients",
        "commitment HEX",
        "            binds the content key, so that all readers see the same content; does not reveal the key",
        "stored at   TIME, by the store's clock",
        "checksum    none: the store reports no checksum that it is known to verify",
        "",
        "Hidden from the store: content, name, type and dates, and who can read it.",
        "The store sees when blobs are written and read, and so which ones belong together.",
        "",
      ].join("\n"),
    );
    expect(stdout).not.toContain("hello");
    const json = await ok(["inspect", address, "--json"], { env: keyless });
    expect(JSON.parse(json.stdout)).toEqual({
      address,
      kind: "root",
      version: 1,
      storedBytes: 243,
      prefixBytes: 179,
      sealedBytes: 48,
      recipients: 2,
      ephemeral: expect.stringMatching(/^[0-9a-f]{64}$/u),
      commitment: expect.stringMatching(/^[0-9a-f]{64}$/u),
      attested: null,
      storedAt: expect.any(Number),
    });
  });

  test("explains what is visible of chunks, by their lengths", async () => {
    const env = { IDK_STORE: "chunks" };
    const root = await ok(["put", "-", "--chunk-size", "512K", "--no-padding"], {
      env,
      stdin: noise(2 ** 20 + 1),
    });
    const seen = new Set<string>();
    for (const address of (await ok(["ls"], { env })).stdout.trim().split("\n")) {
      const { stdout } = await ok(["inspect", address], { env: { ...keyless, ...env } });
      if (address === root.stdout.trim()) {
        // Without padding, the length is exact.
        expect(stdout).toMatch(/sealed {6}(\d+) bytes\n.*list of chunks: \1 bytes\n/u);
        continue;
      }
      expect(stdout).toContain("kind        chunk: below some root\n");
      expect(stdout).not.toContain("recipients");
      expect(stdout).toContain("Hidden from the store: content, its root");
      seen.add(/sealed .*\n +(.*)\n/u.exec(stdout)![1]!);
    }
    expect(seen).toEqual(new Set(["a full chunk of 512 KiB", "the last chunk of some content"]));
  });

  test("rejects what is not a blob, or not the one of its address", async () => {
    const address = await put("x");
    writeFileSync(workspace.blob(address), "something else");
    expectFailure(await idk(["inspect", address]), 5, "do not match its address");
    expectFailure(await idk(["inspect", "f".repeat(64)]), 3, "f".repeat(64));
    expectFailure(await idk(["inspect", "xyz"]), 2, "ADDRESS must be");
    expectFailure(await idk(["inspect"]), 2, "missing required argument 'address'");
  });
});

await describeMinio("inspect on MinIO", (minio, bucket) => {
  test("also shows what the store reports", async () => {
    const env = { ...minio.env, IDK_STORE: minio.url(bucket, "/seen?sse=AES256") };
    const address = (await ok(["put", "-"], { env, stdin: "x" })).stdout.trim();
    const result = await ok(["inspect", address], { env: { ...env, IDK_IDENTITY: "" } });
    expectNoCredentials(result, env);
    // To show a blob, idk does not test whether the server verifies checksums, which takes a write.
    expect(result.stdout).toContain(
      "checksum    none: the store reports no checksum that it is known to verify\n",
    );
    expect(result.stdout).toContain("encryption  AES256, by the store, on top of idk's\n");
    expect(result.stdout).toMatch(/^stored at {3}20.*Z, by the store's clock$/mu);
  });
});
