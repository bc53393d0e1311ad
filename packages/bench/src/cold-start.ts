/**
 * The start-up time of the command, as the published bundle and from the sources, compared with an empty
 * Bun script.
 *
 * Usage: bun packages/bench/src/cold-start.ts [ROUNDS]
 */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { temporaryFolder, isolatedUserFolders } from "./harness/files.ts";
import { describeHost, thisHost } from "./harness/machine.ts";
import { interleavedSamples, judge, mebibytes, spread, summarize } from "./harness/measure.ts";
import {
  RUNTIME_FLAGS,
  SOURCES,
  describePeakFloor,
  publishedCommand,
  run,
} from "./harness/processes.ts";

const rounds = Number(process.argv[2] ?? "30");
const dir = await temporaryFolder();
const file = join(dir, "kibibyte");
await writeFile(file, crypto.getRandomValues(new Uint8Array(1024)));
const env = isolatedUserFolders(dir);
const { recipient } = await generateIdentity();

const bun = (...args: string[]) =>
  run({ argv: [process.execPath, ...RUNTIME_FLAGS, ...args], env });
const bundle = await publishedCommand();
const put = ["put", file, "-r", recipient, "--store", join(dir, "blobs")];

try {
  const samples = await interleavedSamples(rounds, {
    // For an empty script, Bun prints its help without starting the JavaScript engine.
    "bun -e ''": () => bun("-e", ""),
    "bun -e 0": () => bun("-e", "0"),
    "idk --version": () => bun(bundle, "--version"),
    "idk --help": () => bun(bundle, "--help"),
    "idk put, 1 KiB": () => bun(bundle, ...put),
    "put, from sources": () => bun(SOURCES, ...put),
  });
  const [nothing, engine] = [summarize(samples["bun -e ''"]), summarize(samples["bun -e 0"])];
  console.log(describeHost(thisHost()));
  console.log(
    `milliseconds as median (least to most), ${rounds} rounds; ratios to bun -e '' and to bun -e 0`,
  );
  for (const [name, own] of Object.entries(samples)) {
    const { seconds, cpuSeconds, peakRss, all } = summarize(own);
    const took = all.map((each) => each * 1000);
    console.log(
      `${name.padEnd(17)} ${spread(took, 1).padStart(22)}  ${(seconds / nothing.seconds).toFixed(2)}x  ${(seconds / engine.seconds).toFixed(2)}x  ${(cpuSeconds * 1000).toFixed(1).padStart(6)} CPU ms  ${mebibytes(peakRss).padStart(4)} MiB peak`,
    );
  }
  console.log("");
  const timesEngine = (name: keyof typeof samples) =>
    summarize(samples[name]).seconds / engine.seconds;
  judge([
    { name: "idk --help, ratio to bun -e 0", value: timesEngine("idk --help"), most: 2.5 },
    { name: "idk put, ratio to bun -e 0", value: timesEngine("idk put, 1 KiB"), most: 5 },
  ]);
  console.log(describePeakFloor());
} finally {
  await rm(dir, { recursive: true });
}
