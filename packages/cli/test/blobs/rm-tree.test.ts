import { describe, expect, test } from "bun:test";
import { filesystem } from "@idk/storage/filesystem";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { atTerminal } from "../support/at-terminal.ts";
import { createWorkspace, expectFailure, isolated, MAIN, noise } from "../support/cli.ts";
import { forgeTree, unopenable } from "../../../storage/test/store/forged-tree.ts";

const workspace = await createWorkspace();
const { idk, ok, put, recipient } = workspace;
const backend = filesystem(workspace.path("blobs"));

describe("rm --tree of a root that someone else wrote", () => {
  test("deletes nothing that does not belong to the tree, lists it, and fails", async () => {
    const victim = await put("the victim's root");
    const large = await put(noise(2 ** 20 + 1), "--chunk-size", "256K");
    const blobs = (await ok(["ls"])).stdout.trim().split("\n");
    const chunk = blobs.find((one) => one !== victim && one !== large)!;
    const forge = async () =>
      forgeTree(backend, recipient, [victim, chunk, chunk, chunk, chunk].map(unopenable));

    const forged = await forge();
    const result = await idk(["rm", "--tree", forged]);
    expect(result.stdout).toBe("");
    expect(result.stderr.split("\n").toSorted()).toEqual(
      [
        "",
        `idk: not deleted: ${victim} is a root or not a blob of idk, and no chunk of this tree`,
        `idk: not deleted: ${chunk} is a chunk of another tree: this tree does not have its key`,
        "removed 1 blob; 2 not deleted, because they do not belong to it",
        "idk: 2 of 3 blobs do not belong to the tree and were not deleted",
      ].toSorted(),
    );
    expect(result.code).toBe(5);
    for (const address of blobs) expect(existsSync(workspace.blob(address))).toBe(true);
    expect(existsSync(workspace.blob(forged))).toBe(false);

    const again = await forge();
    const json = await idk(["rm", "--tree", again, "--json"]);
    const lines = json.stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      expect.arrayContaining([
        { skipped: true, address: victim, reason: "not-a-chunk" },
        { skipped: true, address: chunk, reason: "other-key" },
        { address: again, blobs: 1, skipped: 2, removed: true },
      ]),
    );
    expect(lines).toHaveLength(3);
    expect(json.code).toBe(5);
    await ok(["rm", "--tree", large]);
    await ok(["rm", victim]);
  });
});

describe("rm --tree of more than 10,000 blobs", () => {
  const references = Array.from({ length: 10_001 }, () =>
    unopenable(randomBytes(32).toString("hex")),
  );
  const blobsOf = (root: string) => `the tree ${root} has 10005 blobs`;
  const newTree = async () => forgeTree(backend, recipient, references);

  test("needs --yes without a terminal, and deletes nothing without it", async () => {
    const root = await newTree();
    const before = (await ok(["ls"])).stdout;
    expectFailure(
      await idk(["rm", "--tree", root]),
      2,
      `${blobsOf(root)}: pass --yes to delete all of them`,
    );
    expect((await ok(["ls"])).stdout).toBe(before);
    // What is already gone counts as removed.
    expect((await ok(["rm", "--tree", root, "--yes"])).stderr).toBe("removed 10005 blobs\n");
    expect((await ok(["ls"])).stdout).toBe("");
  });

  test("removes several that share nodes", async () => {
    const root = await newTree();
    const { stdout } = await ok(["rewrap", root, "-r", recipient]);
    const { stderr } = await ok(["rm", "--tree", root, stdout.trim(), "--yes"]);
    expect(stderr).toEndWith("removed 2 trees; none failed\n");
    expect((await ok(["ls"])).stdout).toBe("");
  });

  test("asks on a terminal", async () => {
    const root = await newTree();
    const type = async (typed: string) => {
      const command = [process.execPath, MAIN, "rm", "--tree", root, "--no-progress"];
      const steps = [{ shown: String.raw`\[y/N\] \Z`, type: typed }];
      const options = { cwd: workspace.folder, env: isolated(workspace.env) };
      const { screen, code } = await atTerminal(steps, command, options);
      return { screen: screen.replaceAll("\r\n", "\n"), code };
    };
    for (const answer of ["\n", "n\n", "yess\n"]) {
      const refused = await type(answer);
      expect(refused.screen).toContain(`${blobsOf(root)}. Delete all of them? [y/N] `);
      expect(refused.screen).toEndWith(`idk: not confirmed: nothing was deleted\n`);
      expect(refused.code).toBe(2);
      expect(existsSync(workspace.blob(root))).toBe(true);
    }
    const agreed = await type("yes\n");
    expect(agreed.screen).toEndWith("removed 10005 blobs\n");
    expect(agreed.code).toBe(0);
  });

  test("--yes needs --tree", async () => {
    expectFailure(await idk(["rm", "f".repeat(64), "--yes"]), 2, "--yes applies to --tree");
  });
});
