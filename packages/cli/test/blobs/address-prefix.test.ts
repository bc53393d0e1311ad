import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, put, path } = workspace;

/** A copy of a blob under an address with the same prefix. */
function nameAlike(address: string, digits: number): string {
  const other =
    address.slice(0, digits) + (address[digits] === "0" ? "1" : "0").repeat(64 - digits);
  const file = path(`blobs/${other.slice(0, 2)}/${other}`);
  mkdirSync(dirname(file), { recursive: true });
  copyFileSync(workspace.blob(address), file);
  return other;
}

describe("an address prefix", () => {
  test("works for commands that read", async () => {
    const address = await put("hello", "--name", "hello.txt");
    const short = address.slice(0, 20);
    expect((await ok(["get", short])).stdout).toBe("hello");
    expect((await ok(["verify", short, "--deep"])).stderr).toStartWith("checked 1 blob,");
    const once = await ok(["verify", short, address, address.slice(0, 40)]);
    expect(once.stderr).toStartWith("checked 1 blob,");
    await ok(["copy", short, "--tree", "--from", "blobs", "--to", "mirror"]);
    expect((await ok(["ls", "--store", "mirror"])).stdout).toBe(`${address}\n`);
    const rewrapped = await ok(["rewrap", short, "--json"]);
    expect(JSON.parse(rewrapped.stdout)).toMatchObject({ previous: address });
    expect(rewrapped.stderr).toContain(`recipients of ${address} can keep reading`);
  });

  test("of 8 digits works for commands that display, which print the full address", async () => {
    const address = await put("displayed");
    const short = address.slice(0, 8);
    expect(JSON.parse((await ok(["stat", short, "--json"])).stdout)).toMatchObject({ address });
    expect((await ok(["stat", short])).stdout).toContain(address);
    expect((await ok(["inspect", short])).stdout).toContain(address);
  });

  test("of less than 20 digits opens, shares, copies and removes nothing", async () => {
    // Anyone who can write to the store finds another blob for 8 digits in minutes.
    const address = await put("to be forged");
    const blobs = (await ok(["ls"])).stdout;
    for (const digits of [8, 19]) {
      const short = address.slice(0, digits);
      const message =
        `ADDRESS ${short} is too short: anyone who can write to the store can make another blob ` +
        "whose address begins with it. Give the whole address, or at least its first 20 digits; " +
        `\`idk inspect ${short}\` prints it`;
      for (const args of [
        ["get", short],
        ["get", short, "--output-dir", "forged"],
        ["verify", short],
        ["verify", "--deep", short],
        ["rm", short],
        ["rm", "--tree", short],
        ["rewrap", short],
        ["share", short, "-r", workspace.recipient],
        ["copy", short, "--from", "blobs", "--to", "forged"],
      ]) {
        expectFailure(await idk(args), 2, message);
      }
      workspace.write("short list", `${short}  name\n`);
      const listed = await idk(["get", "--from-file", "short list", "--output-dir", "forged"]);
      expect(listed.code).toBe(2);
      expect(listed.stderr).toContain(`${short} is too short: anyone who can write`);
      expect(existsSync(path("forged")) ? readdirSync(path("forged")) : []).toEqual([]);
    }
    expect((await ok(["ls"])).stdout).toBe(blobs);
  });

  test("works in a list, where it counts as the full address", async () => {
    const [one, two] = [await put("one"), await put("two")];
    workspace.write(
      "list",
      `${one.slice(0, 20)}  anything\n${one}\n${two.slice(0, 22)}\n${"0".repeat(20)}\n`,
    );
    const result = await idk(["get", "--from-file", "list", "--output-dir", "fetched"]);
    expect(readdirSync(path("fetched")).toSorted()).toEqual([one, two].toSorted());
    expect(result.stderr).toContain(
      `idk: the store has no blob whose address begins with ${"0".repeat(20)}`,
    );
    expect(result.stderr).toEndWith("idk: 1 of 3 addresses failed\n");
    expect(result.code).toBe(3);
  });

  test("removes a blob, and the full address is printed", async () => {
    const address = await put("gone soon");
    expect(await ok(["rm", address.slice(0, 20)])).toMatchObject({
      stdout: "",
      stderr: `removed ${address}\n`,
    });
    expect(existsSync(workspace.blob(address))).toBe(false);
    const tree = await put(noise(2 ** 20 + 1), "--chunk-size", "256K");
    const removed = await ok(["rm", "--tree", tree.slice(0, 21)]);
    expect(removed.stderr).toBe(`removed 6 blobs: ${tree}\n`);
    const json = await put("and this");
    const { stdout } = await ok(["rm", json.slice(0, 20), "--json"]);
    expect(JSON.parse(stdout)).toEqual({ address: json, blobs: 1, removed: true });
  });

  test("is rejected by every command if ambiguous, and removes nothing", async () => {
    const address = await put("one of two");
    const other = nameAlike(address, 21);
    const names = [address, other].toSorted().join(", ");
    const message = `several addresses begin with ${address.slice(0, 21)}, give more digits: ${names}`;
    for (const args of [["get"], ["stat"], ["verify"], ["rm"], ["rm", "--tree"], ["rewrap"]]) {
      expectFailure(await idk([...args, address.slice(0, 21)]), 2, message);
    }
    const copied = await idk([
      "copy",
      address.slice(0, 21),
      "--from",
      "blobs",
      "--to",
      "elsewhere",
    ]);
    expectFailure(copied, 2, message);
    expect(existsSync(path("elsewhere"))).toBe(false);
    expect(existsSync(workspace.blob(address))).toBe(true);
    expect((await ok(["get", address.slice(0, 22)])).stdout).toBe("one of two");
    await ok(["rm", other]);
  });

  test("is not found if there is no match, and rejected if too short", async () => {
    await put("something");
    for (const command of ["get", "stat", "verify", "rm", "rewrap"]) {
      const unknown = await idk([command, "01234567890123456789"]);
      const message = "the store has no blob whose address begins with 01234567890123456789";
      expectFailure(unknown, 3, message);
      expectFailure(await idk([command, "0123456"]), 2, "ADDRESS must be 64 lowercase");
      expectFailure(await idk([command, "0123456G"]), 2, "or at least the first ");
    }
  });
});
