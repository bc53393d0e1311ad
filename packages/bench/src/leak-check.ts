/**
 * Whether memory grows with use: many rounds of put and get in one process, of contents inside the
 * root and in trees, as bytes and as streams, each removed again. Resident memory is sampled after a
 * forced collection; a line through the samples says how many bytes a round leaves behind.
 *
 * Usage: bun packages/bench/src/leak-check.ts [ROUNDS]       exit code 1 where it grows
 */
import { createStore, generateIdentity } from "@idk/storage";
import { leakVerdict } from "./leak-verdict.ts";
import { memory } from "@idk/storage/memory";

const KIB = 1024;
const MIB = 2 ** 20;
/** Up to a tree of several chunks, with a last one that is not full. */
const LENGTHS = [0, 4 * KIB, 100 * KIB, MIB, MIB + 1, 5 * MIB + 12_345];
const SAMPLES = 100;

const rounds = Number(process.argv[2] ?? "1000");
const every = Math.max(1, Math.floor(rounds / SAMPLES));
const content = new Uint8Array(Math.max(...LENGTHS));
for (let i = 0; i < content.length; i += 65_536) {
  crypto.getRandomValues(content.subarray(i, i + 65_536));
}
const alice = await generateIdentity();
await using store = createStore({
  // Nothing of deleted blobs is kept, so that what stays is the store's own.
  backend: memory({ idleBytes: 0 }),
  recipients: [alice.recipient],
  identities: [alice],
  chunkSize: 256 * KIB,
});

const xs: number[] = [];
const ys: number[] = [];
for (let round = 0; round < rounds; round++) {
  for (const length of LENGTHS) {
    const bytes = content.subarray(0, length);
    const address = await store.put(round % 2 === 0 ? bytes : new Blob([bytes]).stream());
    const blob = await store.get(address);
    let read = 0;
    if (round % 2 === 0) read = (await blob.bytes()).length;
    else for await (const piece of blob.stream()) read += piece.length;
    if (read !== length) throw new Error(`read ${read} bytes of ${length}`);
    await store.deleteTree(address);
  }
  if (round % every === every - 1) {
    Bun.gc(true);
    xs.push(round + 1);
    ys.push(process.memoryUsage.rss());
  }
}

const verdict = leakVerdict(xs, ys);
const { user, system } = process.cpuUsage();
const mib = (bytes: number) => (bytes / MIB).toFixed(1);
const total = rounds * LENGTHS.reduce((sum, length) => sum + length, 0);
console.log(`${rounds} rounds of ${LENGTHS.length} contents, ${mib(total)} MiB each way`);
console.log(`resident MiB, first to last sample: ${mib(ys[0]!)} to ${mib(ys.at(-1)!)}`);
console.log(`peak ${(process.resourceUsage().maxRSS / KIB).toFixed(0)} MiB`);
console.log(`${((user + system) / 1e6 / (total / 2 ** 30)).toFixed(2)} CPU s/GiB put and got`);
console.log(
  `${verdict.perRound.toFixed(0)} bytes a round, give or take ${verdict.error.toFixed(0)}, over the last ${verdict.samples} samples`,
);
console.log(verdict.grows ? "GROWS" : "no growth");
if (verdict.grows) process.exitCode = 1;
