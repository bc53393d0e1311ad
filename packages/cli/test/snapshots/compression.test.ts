import { expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runIdk } from "../support/cli.ts";

setDefaultTimeout(120_000);

test.each([
  ["", {}, true],
  ['compress = "auto"\n', {}, true],
  ['compress = "none"\n', {}, false],
  ['compress = "none"\n', { IDK_COMPRESS: "lz4" }, true],
])("a backup with the configuration %p and %p is compressed: %p", async (setting, more, is) => {
  const home = newFolder();
  const env = { HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...more };
  const idk = (...args: readonly string[]) => runIdk(args, { cwd: home, env });
  await idk("init", "--no-passphrase");
  // In the table of the store, which is the last one.
  appendFileSync(join(home, ".config/idk/config.toml"), setting);
  mkdirSync(join(home, "docs"));
  writeFileSync(join(home, "docs/text"), "the same line\n".repeat(100_000));
  const { code, stdout } = await idk("backup", "docs", "--name", "docs", "--json");
  expect(code).toBe(0);
  const { newBytes, storedBytes } = JSON.parse(stdout) as Record<string, number>;
  expect(newBytes).toBe(1_400_000);
  expect(storedBytes! < 400_000).toBe(is);
});
