import { expect, test } from "bun:test";
import { join } from "node:path";

/** Mebibytes that a gateway may take with 64 uploads and 64 downloads at once. */
const TARGET = 384;
/** Of each object. Longer ones take longer, and no more memory. */
const MEBIBYTES = process.env["IDK_GATEWAY_OBJECT_MIB"] ?? "12";

async function run(...given: readonly string[]): Promise<{ peakMiB: number; seen: unknown }> {
  const program = Bun.spawn([process.execPath, join(import.meta.dir, "many-at-once.ts"), ...given]);
  return (await new Response(program.stdout).json()) as { peakMiB: number; seen: unknown };
}

test("64 uploads and 64 downloads at once take at most 384 MiB", async () => {
  const { peakMiB, seen } = await run(MEBIBYTES, "64", "0");
  expect(seen).toEqual({ right: 128, again: true });
  expect(peakMiB).toBeLessThanOrEqual(TARGET);
}, 600_000);

test("40 uploads and 40 downloads that stall stop nobody", async () => {
  const { seen } = await run("4", "8", "40");
  expect(seen).toEqual({ right: 16, again: true });
}, 120_000);
