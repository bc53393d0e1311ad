/**
 * What starting the command costs, against starting Bun with nothing to do.
 *
 * Usage: bun packages/bench/src/cold-start.ts [ROUNDS]
 */
import { generateIdentity } from "@idk/storage";
import { interleaved, median, spread } from "./measure.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

const rounds = Number(process.argv[2] ?? "30");
const idk = join(import.meta.dir, "../../cli/src/main.ts");
const dir = await mkdtemp(join(tmpdir(), "idk-bench-"));
const file = join(dir, "kibibyte");
await writeFile(file, crypto.getRandomValues(new Uint8Array(1024)));
const { recipient } = await generateIdentity();

const run = async (...args: string[]) => {
  const child = Bun.spawn([process.execPath, ...args], { stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) !== 0) throw new Error(`failed: ${args.join(" ")}`);
};

try {
  const times = await interleaved(rounds, {
    // Bun answers an empty script with its help, before it starts a JavaScript engine at all.
    "bun -e ''": () => run("-e", ""),
    "bun -e 0": () => run("-e", "0"),
    "idk --version": () => run(idk, "--version"),
    "idk --help": () => run(idk, "--help"),
    "idk put, 1 KiB": () => run(idk, "put", file, "-r", recipient, "--store", join(dir, "blobs")),
  });
  const [nothing, engine] = [median(times["bun -e ''"]), median(times["bun -e 0"])];
  console.log(
    `milliseconds as median (least to most), ${rounds} rounds; times of bun -e '' and of bun -e 0`,
  );
  for (const [name, values] of Object.entries(times)) {
    console.log(
      `${name.padEnd(16)} ${spread(values, 1).padStart(22)}  ${(median(values) / nothing).toFixed(2)}x  ${(median(values) / engine).toFixed(2)}x`,
    );
  }
} finally {
  await rm(dir, { recursive: true });
}
