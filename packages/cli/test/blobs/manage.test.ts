import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const MISSING = "f".repeat(64);

const workspace = await createWorkspace();
const { idk, ok, put } = workspace;

test("a missing store is an error, not an empty store", async () => {
  for (const args of [["ls"], ["verify"], ["rm", MISSING], ["get", MISSING]]) {
    expectFailure(await idk(args, { env: { IDK_STORE: "typo" } }), 6, "typo does not exist");
  }
  mkdirSync(workspace.path("empty"));
  const { stdout } = await ok(["ls"], { env: { IDK_STORE: "empty" } });
  expect(stdout).toBe("");
});

test("lists, removes, and reports removed blobs as missing", async () => {
  const [one, two] = [await put("one"), await put("two")];
  const lines = (await ok(["ls"])).stdout.trim().split("\n");
  expect(lines.toSorted()).toEqual([one, two].toSorted());
  const items = (await ok(["ls", "--json"])).stdout.trim().split("\n");
  for (const item of items) {
    const { address, size } = JSON.parse(item) as { address: string; size: number };
    expect(readFileSync(workspace.blob(address)).length).toBe(size);
  }

  expect(await ok(["rm", one])).toMatchObject({ stdout: "", stderr: "" });
  expectFailure(await idk(["rm", one]), 3, one);
  expectFailure(await idk(["get", one]), 3, one);
  const { stdout } = await ok(["rm", two, "--json"]);
  expect(JSON.parse(stdout)).toEqual({ address: two, blobs: 1, removed: true });
  expect((await ok(["ls"])).stdout).toBe("");
});

test("rm --tree removes the chunks", async () => {
  const content = noise(2 ** 20 + 1);
  const address = await put(content, "--chunk-size", "256K");
  const { stdout, stderr } = await ok(["rm", address, "--tree"]);
  expect([stdout, stderr]).toEqual(["", "removed 6 blobs\n"]);
  expect((await ok(["ls"])).stdout).toBe("");
  expectFailure(await idk(["rm", address, "--tree"]), 3, address);
});

test("rm --tree reports what is left if a chunk cannot be removed", async () => {
  const address = await put(noise(2 ** 20 + 1), "--chunk-size", "256K");
  const listed = (await ok(["ls"])).stdout.trim().split("\n");
  const chunk = listed.find((one) => one !== address);
  const path = workspace.blob(chunk!);
  rmSync(path);
  mkdirSync(`${path}/in the way`, { recursive: true });
  const result = await idk(["rm", address, "--tree"]);
  expect(result.code).not.toBe(0);
  expect(result.stderr).toMatch(
    new RegExp(
      `^idk: [1-6] blobs? of ${address} deleted, root first; the remaining chunks are`,
      "u",
    ),
  );
  expect(existsSync(workspace.blob(address))).toBe(false);
  rmSync(path, { recursive: true });
  for (const left of (await ok(["ls"])).stdout.split("\n").filter(Boolean)) await ok(["rm", left]);
});

test("rm --tree needs --force if chunks may be shared", async () => {
  workspace.write("secret", noise(32));
  const address = await put(noise(2 ** 21), "--dedup-secret", "secret");
  const args = ["rm", address, "--tree", "--dedup-secret", "secret"];
  expectFailure(await idk(args), 2, "other roots may share these chunks");
  expect(existsSync(workspace.blob(address))).toBe(true);
  await ok([...args, "--force"]);
  expect((await ok(["ls"])).stdout).toBe("");
});

test("rewrap gives others access and says that the old root stays", async () => {
  const other = (await ok(["keygen", "-o", "other.key"])).stdout.trim();
  const address = await put(noise(2 ** 20 + 1), "--name", "shared");
  const { stdout, stderr } = await ok(["rewrap", address, "-r", other]);
  const rewrapped = stdout.trim();
  expect(rewrapped).toMatch(/^[0-9a-f]{64}$/u);
  expect(stderr).toContain(`recipients of ${address} can keep reading what they could read`);
  expect(stderr).toContain("idk rm");
  expectFailure(await idk(["stat", rewrapped]), 4, "identities");
  expect((await ok(["stat", rewrapped, "-i", "other.key"])).stdout).toContain('"shared"');
  await ok(["rm", address]);
  await ok(["verify", "--deep", rewrapped, "-i", "other.key"]);

  const json = await ok(["rewrap", rewrapped, "-i", "other.key", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ previous: rewrapped });
  expectFailure(await idk(["rewrap", MISSING]), 3, MISSING);
  expectFailure(
    await idk(["rewrap", rewrapped], { env: { IDK_RECIPIENTS: "" } }),
    2,
    "no recipients",
  );
});
