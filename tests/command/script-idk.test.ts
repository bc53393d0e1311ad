import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

// It may have to make the bundle first.
setDefaultTimeout(60_000);

const script = join(import.meta.dir, "../../script/idk");

test("script/idk runs nothing that lies in the folder it is called from", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-strange folder-"));
  try {
    await writeFile(join(folder, "bunfig.toml"), 'preload = ["./strange.ts"]\n');
    await writeFile(join(folder, "strange.ts"), 'console.log("strange");\n');
    const idk = (argv: readonly string[]) =>
      Bun.spawnSync([...argv, "--version"], { cwd: folder }).stdout.toString();
    expect(idk([script])).toMatch(/^idk \d/u);
    // The trap itself.
    expect(
      idk([process.execPath, join(import.meta.dir, "../../packages/cli/src/main.ts")]),
    ).toMatch(/^strange\nidk \d/u);
  } finally {
    await rm(folder, { recursive: true });
  }
});
