import { createStore, parseRecipient } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { expect, test } from "bun:test";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const MISSING = "f".repeat(64);

const workspace = await createWorkspace();
const { idk, ok, put } = workspace;

test("prints a table", async () => {
  const address = await put(noise(20 * 2 ** 20), "--name", "big", "--no-padding");
  const { stdout } = await ok(["stat", address]);
  expect(stdout.replace(/stored .*/u, "stored      ?")).toBe(
    [
      `address     ${address}`,
      "size        20971520 bytes (20 MiB)",
      "stored      ?",
      "padding     0 bytes",
      "recipients  1",
      "depth       1",
      "chunks      5",
      "chunk size  4194304 bytes (4 MiB)",
      "metadata",
      '  name  "big"',
      "",
    ].join("\n"),
  );
});

test("shows both sizes and the encoding of compressed content", async () => {
  const address = await put("again and again, ".repeat(10_000), "--compress", "lz4");
  const { stdout } = await ok(["stat", address]);
  expect(stdout).toMatch(
    /^size {8}170000 bytes .*\nencoded {5}\d+ bytes(?: \(.*\))?, lz4\nstored/mu,
  );
  expect(stdout).toContain('enc  "lz4"');
  const stat = JSON.parse((await ok(["stat", address, "--json"])).stdout);
  expect(stat).toMatchObject({ size: 170_000, metadata: { enc: "lz4", len: 170_000 } });
  expect(stat.encodedSize).toBeLessThan(17_000);
});

test("escapes hostile metadata", async () => {
  const store = createStore({
    backend: filesystem(workspace.path("blobs")),
    recipients: [parseRecipient(workspace.recipient)],
  });
  const name = "a\u001b[2J\u009b1m\u202egnp.exe\nsize  0";
  const metadata = { name, "\u001bkey": Uint8Array.of(0, 255), ["__proto__"]: "own", mtime: 0 };
  const address = await store.put("x", { metadata });
  const { stdout } = await ok(["stat", address]);
  expect(stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  expect(stdout).toContain('"a\\u001b[2J\\u009b1m\\u202egnp.exe\\nsize  0"');
  expect(stdout).toContain("hex 00ff");
  expect(stdout).toContain("(1970-01-01T00:00:00.000Z)");
  const json = await ok(["stat", address, "--json"]);
  expect(json.stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  expect(JSON.parse(json.stdout)).toMatchObject({
    metadata: { name, "\u001bkey": { hex: "00ff" } },
  });
});

test("fails for a missing blob, a chunk, and a non-recipient", async () => {
  expectFailure(await idk(["stat", MISSING]), 3, MISSING);
  const address = await put("x");
  await ok(["keygen", "-o", "stranger.key"]);
  expectFailure(await idk(["stat", address, "-i", "stranger.key"]), 4, "identities");
});
