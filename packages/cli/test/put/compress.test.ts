import { describe, expect, test } from "bun:test";
import { createWorkspace, expectFailure, noise, sameBytes } from "../support/cli.ts";

const { idk, ok, put, write } = await createWorkspace();
const text = new TextEncoder().encode("a line of text that comes again\n".repeat(100_000));

async function encodingOf(address: string): Promise<unknown> {
  return JSON.parse((await ok(["stat", address, "--json"])).stdout).metadata.enc;
}

describe("put --compress", () => {
  test.each([
    ["zstd", "zstd"],
    ["lz4", "lz4"],
    ["auto", "zstd"],
    ["none", undefined],
  ])("%s", async (how, enc) => {
    const address = await put(text, "--compress", how);
    expect(await encodingOf(address)).toBe(enc);
    expect(sameBytes((await ok(["get", address])).bytes, text)).toBe(true);
  });

  test("auto does not compress noise, so its ranges work", async () => {
    const content = noise(3_000_000);
    const address = await put(content, "--compress", "auto");
    expect(await encodingOf(address)).toBeUndefined();
    const { bytes } = await ok(["get", address, "--range", "2000000-2000100"]);
    expect(sameBytes(bytes, content.subarray(2_000_000, 2_000_100))).toBe(true);
  });

  test("rejects a range of compressed content", async () => {
    const address = await put(text, "--compress", "zstd");
    expectFailure(await idk(["get", address, "--range", "0-5"]), 2, "as a whole");
  });

  test("is off by default, also with a dedup secret", async () => {
    expect(await encodingOf(await put(text))).toBeUndefined();
    const address = await put(text, "--dedup-secret", write("secret", "5".repeat(64)));
    expect(await encodingOf(address)).toBeUndefined();
  });

  test("reads IDK_COMPRESS, which the flag overrides", async () => {
    const env = { IDK_COMPRESS: "lz4" };
    const stored = await ok(["put", "-"], { env, stdin: text });
    expect(await encodingOf(stored.stdout.trim())).toBe("lz4");
    const plain = await ok(["put", "-", "--compress", "none"], { env, stdin: text });
    expect(await encodingOf(plain.stdout.trim())).toBeUndefined();
    const empty = await ok(["put", "-"], { env: { IDK_COMPRESS: "" }, stdin: text });
    expect(await encodingOf(empty.stdout.trim())).toBeUndefined();
  });

  test("rejects other values and lists the valid ones", async () => {
    const message = "--compress or IDK_COMPRESS must be zstd, lz4, auto or none";
    expectFailure(await idk(["put", "-", "--compress", "gzip"], { stdin: "x" }), 2, message);
    const env = { IDK_COMPRESS: "ZSTD" };
    expectFailure(await idk(["put", "-"], { env, stdin: "x" }), 2, message);
  });
});
