/**
 * Puts with each compression, of files or random bytes, into a backend that discards them: MB of content
 * per second, CPU time, and the stored share of the content.
 *
 * Usage: bun packages/bench/src/compression.ts [FILE…]      by default the Bun executable and random bytes
 */
import { randomFillSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { type Backend, type Store, createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { interleavedSamples, spread, summarize } from "./harness/measure.ts";
import { measuredTasks, describePeak } from "./harness/processes.ts";

const ROUNDS = 5;
const LENGTH_MAX = 128 * 2 ** 20;
const COMPRESSIONS = ["none", "lz4", "zstd", "auto"] as const;

const { recipient } = await generateIdentity();
let stored = 0;
const sink: Backend = {
  ...memory(),
  put: async (_, bytes) => {
    stored += bytes.length;
  },
};
const store: Store = createStore({ backend: sink, recipients: [recipient], padding: "none" });

const files = process.argv.slice(2);
const contents: [string, Uint8Array][] = [];
for (const file of files.length > 0 ? files : [process.execPath]) {
  const bytes = (await readFile(file)).subarray(0, LENGTH_MAX);
  contents.push([basename(file), new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)]);
}
if (files.length === 0) contents.push(["noise", randomFillSync(new Uint8Array(64 * 2 ** 20))]);

console.log(`median of ${ROUNDS} (least to most), one process on ${process.platform}`);
for (const [name, content] of contents) {
  const kept: Record<string, number> = {};
  const tasks = COMPRESSIONS.map((compression) => [
    compression,
    async () => {
      stored = 0;
      await store.put(content, { compression });
      kept[compression] = stored / content.length;
    },
  ]);
  const samples = await interleavedSamples(ROUNDS, measuredTasks(Object.fromEntries(tasks)));
  for (const compression of COMPRESSIONS) {
    const { all, cpuSeconds } = summarize(samples[compression]!);
    const speeds = all.map((seconds) => content.length / 1e6 / seconds);
    const cpu = (cpuSeconds / (content.length / 2 ** 30)).toFixed(2);
    const share = `${(100 * kept[compression]!).toFixed(1)} %`;
    console.log(
      `${name.padEnd(12)} ${compression.padEnd(5)} ${spread(speeds, 0).padStart(20)} MB/s  ${cpu.padStart(6)} CPU s/GiB  ${share}`,
    );
  }
}
console.log(describePeak());
