import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

// script/idk may have to build the bundle first.
setDefaultTimeout(60_000);

const script = join(import.meta.dir, "../../script/idk");

test("script/idk ignores a bunfig.toml in the current folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-untrusted folder-"));
  try {
    await writeFile(join(folder, "bunfig.toml"), 'preload = ["./untrusted.ts"]\n');
    await writeFile(join(folder, "untrusted.ts"), 'console.log("untrusted");\n');
    const idk = (argv: readonly string[]) =>
      Bun.spawnSync([...argv, "--version"], { cwd: folder }).stdout.toString();
    expect(idk([script])).toMatch(/^idk \d/u);
    // Bun itself runs it.
    expect(
      idk([process.execPath, join(import.meta.dir, "../../packages/cli/src/main.ts")]),
    ).toMatch(/^untrusted\nidk \d/u);
  } finally {
    await rm(folder, { recursive: true });
  }
});
