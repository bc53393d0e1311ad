import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./projects.ts";
import { tmpdir } from "node:os";
import manifest from "../../packages/storage/package.json" with { type: "json" };

// Fails with the names of what has no docstring, or of a type that is used and not exported.
test("the API reference has a page for each entry point, and every export has a docstring", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-api-"));
  try {
    const child = Bun.spawn([process.execPath, "script/api/main.ts", folder], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect(`${stdout}${stderr}`).not.toMatch(/\[(?:warning|error)\]/u);
    expect(await child.exited).toBe(0);
    for (const entry of Object.keys(manifest.exports)) {
      const page = await Bun.file(join(folder, `@idk/storage${entry.slice(1)}.md`)).text();
      expect(page).toContain("\n## ");
    }
    const main = await Bun.file(join(folder, "@idk/storage.md")).text();
    expect(main).toContain("### createStore()");
    expect(main).toContain("##### put()");
  } finally {
    await rm(folder, { recursive: true });
  }
}, 120_000);
