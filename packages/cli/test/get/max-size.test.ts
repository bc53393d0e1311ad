import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, put, path } = workspace;

const large = noise(2 ** 21);
const small = await put("small", "--name", "small");
const chunked = await put(large, "--name", "chunked", "--chunk-size", "256K");
// Less than 1 KiB is stored of it.
const zeros = new Uint8Array(2 ** 21);
const bomb = await put(zeros, "--name", "bomb", "--compress", "zstd");

describe("get --max-size", () => {
  test.each([
    ["chunks", chunked],
    ["compressed content, whose stored length is small", bomb],
  ])("refuses %s before anything is written", async (_, address) => {
    const message =
      `${address} has 2097152 bytes (2 MiB) of content, and --max-size allows 2097151: raise it to ` +
      "fetch this content";
    const limit = ["--max-size", "2097151"];
    const printed = await idk(["get", address, ...limit]);
    expect(printed.stdout).toBe("");
    expectFailure(printed, 2, message);
    expectFailure(await idk(["get", address, ...limit, "-o", "refused"]), 2, message);
    expect(existsSync(path("refused"))).toBe(false);
    expect(readdirSync(workspace.folder).filter((name) => name.startsWith(".refused"))).toEqual([]);
    const json = await idk(["get", address, ...limit, "--json"]);
    expect(JSON.parse(json.stderr)).toEqual({ error: { code: "usage", message } });
  });

  test("accepts content of exactly that size, in any unit", async () => {
    for (const size of ["2097152", "2M", "2MiB", "2048K", "1G", "1T"]) {
      const { bytes } = await ok(["get", bomb, "--max-size", size]);
      expect(Buffer.compare(bytes, zeros)).toBe(0);
    }
    expect((await ok(["get", small, "--max-size", "5"])).stdout).toBe("small");
    expectFailure(await idk(["get", small, "--max-size", "4"]), 2, "has 5 bytes of content");
    expectFailure(await idk(["get", small, "--max-size", "0"]), 2, "--max-size allows 0");
  });

  test("limits what is fetched of a range", async () => {
    const limit = ["--max-size", "1K"];
    const { bytes } = await ok(["get", chunked, "--range", "1000-2024", ...limit]);
    expect(Buffer.compare(bytes, large.subarray(1000, 2024))).toBe(0);
    expectFailure(
      await idk(["get", chunked, "--range", "1000-", ...limit]),
      2,
      "has 2096152 bytes",
    );
  });

  test("applies to each content with --output-dir, and the others are fetched", async () => {
    const args = ["get", small, chunked, bomb, "--output-dir", "out", "--max-size", "1M"];
    const result = await idk(args);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(`${chunked} has 2097152 bytes`);
    expect(result.stderr).toContain(`${bomb} has 2097152 bytes`);
    expect(result.stderr).toEndWith("idk: 2 of 3 addresses failed\n");
    expect(readdirSync(path("out"))).toEqual(["small"]);
  });

  test("takes a size", async () => {
    for (const size of ["", "-1", "1.5M", "2MB", "1K1", "9".repeat(30), "9007199254740993"]) {
      const message = "--max-size must be a size such as 500K, 100M or 2G";
      expectFailure(await idk(["get", small, `--max-size=${size}`]), 2, message);
    }
  });
});
