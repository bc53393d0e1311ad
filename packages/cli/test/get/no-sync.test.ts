import { expect, test } from "bun:test";
import { createWorkspace } from "../support/cli.ts";

const workspace = await createWorkspace();
const { ok, path, put } = workspace;

/** Loaded into the command: prints each sync of a file. */
workspace.write(
  "print-syncs.js",
  `
  const { open } = require("node:fs/promises");
  (async () => {
    const probe = await open(__filename);
    const FileHandle = Object.getPrototypeOf(probe);
    await probe.close();
    for (const name of ["sync", "datasync"]) {
      const original = FileHandle[name];
      FileHandle[name] = function () {
        process.stderr.write(name + "\\n");
        return original.call(this);
      };
    }
  })();`,
);
const env = { BUN_OPTIONS: `--preload ${path("print-syncs.js")}` };

test("get syncs each file, and none with --no-sync", async () => {
  const addresses = [await put("first"), await put("second")];
  const syncs = async (...args: string[]) => {
    const { stderr } = await ok(["get", ...args], { env });
    return stderr.match(/sync/gu)?.length ?? 0;
  };
  const [first = ""] = addresses;
  expect(await syncs(first, "-o", "synced")).toBe(1);
  expect(await syncs(first, "-o", "plain", "--no-sync")).toBe(0);
  expect(await syncs(...addresses, "--output-dir", "all-synced")).toBe(2);
  expect(await syncs(...addresses, "--output-dir", "all-plain", "--no-sync")).toBe(0);
  expect(workspace.read("plain").toString()).toBe("first");
});
