/**
 * Put and get compared with the serial bound 1/(1/secretbox + 1/sha256) of one thread, with and without
 * the store's threads. All use the same bytes, NaCl implementation and process, and run interleaved.
 *
 * `get as chunks` yields borrowed buffers, and `get into memory` fills the caller's. `get as a stream`
 * copies each piece, because consumers may keep them; it has a target because it is the most common way
 * to read. `get as bytes` has none: it allocates new memory for the whole content each time, which the
 * bound does not.
 *
 * Usage: bun packages/bench/src/serial-bound.ts [MIB] [ROUNDS] [native|portable]
 */
import { createHash, randomFillSync } from "node:crypto";
import { type NaClChoice, type Store, createStore, generateIdentity, loadNaCl } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { describeHost, thisHost } from "./harness/machine.ts";
import { interleavedSamples, judge, spread } from "./harness/measure.ts";
import { measuredTasks, describePeak } from "./harness/processes.ts";
import { median } from "./statistics/describe.ts";

const CHUNK = 4 * 2 ** 20;
const MIB = 2 ** 20;
const WITH_TARGET = [
  "put of bytes",
  "put of a stream",
  "get as chunks",
  "get as a stream",
  "get into memory",
];

const [mib = "1024", rounds = "5", choice = "native"] = process.argv.slice(2);
const content = randomFillSync(new Uint8Array(Number(mib) * MIB));

const naCl = await loadNaCl(choice as NaClChoice);
const alice = await generateIdentity();
const open = (workers?: number): Store =>
  createStore({
    // Reuse the memory of deleted blobs, so that later rounds do not allocate new pages.
    backend: memory({ idleBytes: 2 * content.length }),
    recipients: [alice.recipient],
    identities: [alice],
    nacl: choice as NaClChoice,
    workers,
  });

const key = new Uint8Array(32).fill(1);
const nonce = new Uint8Array(24);
const box = new Uint8Array(CHUNK + 16);
const eachChunk = (work: (chunk: Uint8Array) => void) => {
  for (let i = 0; i < content.length; i += CHUNK) work(content.subarray(i, i + CHUNK));
};
async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < content.length; i += MIB) yield content.subarray(i, i + MIB);
}
const expect = (length: number) => {
  if (length !== content.length) throw new Error(`read ${length} bytes of ${content.length}`);
};

const into = new Uint8Array(content.length);

const bound = measuredTasks({
  secretbox: () =>
    eachChunk((chunk) => naCl.seal(box.subarray(0, chunk.length + 16), chunk, nonce, key)),
  sha256: () => eachChunk((chunk) => createHash("sha256").update(chunk).digest()),
});
const threaded = await tasksOf("", open());
const alone = await tasksOf(", one thread", open(0));

/** The tasks of a store, which always contains the content once. */
async function tasksOf(suffix: string, store: Store) {
  let address = await store.put(content);
  const replace = async (put: () => Promise<typeof address>) => {
    await store.deleteTree(address);
    address = await put();
  };
  const named = (name: string, task: () => unknown) => [name + suffix, task] as const;
  return measuredTasks(
    Object.fromEntries([
      named("put of bytes", () => replace(async () => store.put(content))),
      named("put of a stream", () => replace(async () => store.put(pieces()))),
      named("get as chunks", async () => {
        let length = 0;
        for await (const piece of (await store.get(address)).chunks()) length += piece.length;
        expect(length);
      }),
      named("get as a stream", async () => {
        let length = 0;
        for await (const piece of (await store.get(address)).stream()) length += piece.length;
        expect(length);
      }),
      named("get as bytes", async () => {
        expect((await (await store.get(address)).bytes({ maxBytes: content.length })).length);
      }),
      named("get into memory", async () => {
        const options = { into, maxBytes: content.length };
        expect((await (await store.get(address)).bytes(options)).length);
      }),
      named("verify, deep", async () => store.verify(address, { deep: true })),
    ]),
  );
}

const samples = await interleavedSamples(Number(rounds), { ...bound, ...threaded, ...alone });
const milliseconds = (name: string) =>
  (samples[name as keyof typeof samples] ?? []).map(({ seconds }) => seconds * 1000);
const serial = median(milliseconds("secretbox")) + median(milliseconds("sha256"));
const ratio = (name: string) => serial / median(milliseconds(name));
console.log(
  `${mib} MiB, ${rounds} rounds after a warm-up, NaCl ${naCl.name}, ${describeHost(thisHost())}`,
);
console.log("milliseconds as median (least to most); ratio is the serial bound over the median\n");
for (const [name, taken] of Object.entries(samples)) {
  const values = milliseconds(name);
  const rate = content.length / 1e6 / (median(values) / 1000);
  const cpu = median(taken.map(({ cpuSeconds }) => cpuSeconds)) / (content.length / 2 ** 30);
  console.log(
    `${name.padEnd(28)} ${spread(values, 0).padStart(22)}  ${rate.toFixed(0).padStart(5)} MB/s  ${ratio(name).toFixed(2)}  ${cpu.toFixed(2).padStart(5)} CPU s/GiB`,
  );
}
console.log();
for (const name of WITH_TARGET) {
  judge([
    { name: `${name}, ratio to the serial bound`, value: ratio(name), least: 1.5 },
    { name: `${name}, one thread`, value: ratio(`${name}, one thread`), least: 0.9 },
  ]);
}
console.log(`\n${describePeak()}`);
