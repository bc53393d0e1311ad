import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const node: string | null = Bun.which("node");

/** Bundles a program of the tests, and runs it on Node. */
export async function runOnNode(
  program: string,
): Promise<{ stdout: string; stderr: string; code: number }> {
  const folder = await mkdtemp(join(tmpdir(), "idk-recorder-node-"));
  try {
    const built = await Bun.build({
      entrypoints: [program],
      outdir: folder,
      // Chunks of their own for optional imports, which may fail.
      splitting: true,
      naming: { entry: "program.mjs", chunk: "[hash].mjs" },
      target: "node",
      conditions: ["bun"],
      external: ["sodium-native", "piscina", "lz4-napi"],
    });
    if (!built.success) throw new Error(built.logs.map(({ message }) => message).join("\n"));
    const child = Bun.spawn([node!, join(folder, "program.mjs")], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { stdout, stderr, code };
  } finally {
    await rm(folder, { recursive: true });
  }
}
