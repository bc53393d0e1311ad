import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

// script/idk may have to build the bundle first.
setDefaultTimeout(60_000);

const script = join(import.meta.dir, "../../script/idk");

test("script/idk ignores what Bun obeys in the current folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-untrusted folder-"));
  const home = join(folder, "home");
  const idk = (argv: readonly string[]) => {
    const env = { PATH: process.env["PATH"], HOME: home };
    return Bun.spawnSync([...argv, "config"], { cwd: folder, env }).stdout.toString();
  };
  const bun = [process.execPath, join(import.meta.dir, "../../packages/cli/src/main.ts")];
  try {
    await mkdir(home);
    await writeFile(join(folder, "untrusted.ts"), 'console.log("untrusted");\n');
    // In each case, Bun itself obeys the file.
    for (const [name, content] of [
      [".env", "IDK_STORE=untrusted\n"],
      ["bunfig.toml", 'preload = ["./untrusted.ts"]\n'],
      ["tsconfig.json", '{"compilerOptions": {"paths": {"*": ["./untrusted.ts"]}}}'],
    ] as const) {
      await writeFile(join(folder, name), content);
      expect(idk(bun)).toContain("untrusted");
      expect(idk([script])).toMatch(/^config +none .*\nstore +none /u);
      await rm(join(folder, name));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
