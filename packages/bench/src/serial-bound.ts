/**
 * How near put and get come to the serial bound 1/(1/secretbox + 1/sha256) of one thread: the same
 * bytes, the same NaCl implementation, the same process, in turn with what they are compared to.
 *
 * Usage: bun packages/bench/src/serial-bound.ts [MIB] [ROUNDS] [native|portable]
 */
import { type NaClChoice, createStore, generateIdentity, loadNaCl } from "@idk/storage";
import { here, ownPeak } from "./processes.ts";
import { interleavedSamples, median, spread } from "./measure.ts";
import { createHash } from "node:crypto";
import { memory } from "@idk/storage/memory";

const CHUNK = 4 * 2 ** 20;
const MIB = 2 ** 20;

const [mib = "256", rounds = "9", choice = "native"] = process.argv.slice(2);
const content = new Uint8Array(Number(mib) * MIB);
for (let i = 0; i < content.length; i += 65_536) {
  crypto.getRandomValues(content.subarray(i, i + 65_536));
}

const naCl = await loadNaCl(choice as NaClChoice);
const alice = await generateIdentity();
const store = createStore({
  // Memory of deleted blobs is kept, so that rounds after the first meet no fresh pages.
  backend: memory({ idleBytes: 2 * content.length }),
  recipients: [alice.recipient],
  identities: [alice],
  nacl: naCl,
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

let address = await store.put(content);
const replace = async (put: () => Promise<typeof address>) => {
  await store.deleteTree(address);
  address = await put();
};

const tasks = here({
  secretbox: () =>
    eachChunk((chunk) => naCl.seal(box.subarray(0, chunk.length + 16), chunk, nonce, key)),
  sha256: () => eachChunk((chunk) => createHash("sha256").update(chunk).digest()),
  "put of bytes": () => replace(async () => store.put(content)),
  "put of a stream": () => replace(async () => store.put(pieces())),
  "get as a stream": async () => {
    let length = 0;
    for await (const piece of (await store.get(address)).stream()) length += piece.length;
    expect(length);
  },
  "get as bytes": async () => expect((await (await store.get(address)).bytes()).length),
  "get into memory": async () => expect((await (await store.get(address)).bytes({ into })).length),
  "verify, deep": async () => store.verify(address, { deep: true }),
});

const samples = await interleavedSamples(Number(rounds), tasks);
const times = (name: keyof typeof samples) => samples[name].map(({ seconds }) => seconds * 1000);
const bound = median(times("secretbox")) + median(times("sha256"));
console.log(`${mib} MiB, ${rounds} rounds after one to warm up, NaCl ${naCl.name}`);
console.log("milliseconds as median (least to most); ratio is the serial bound over the median\n");
for (const name of Object.keys(samples) as (keyof typeof samples)[]) {
  const values = times(name);
  const ratio = bound / median(values);
  const rate = content.length / 1e6 / (median(values) / 1000);
  const cpu =
    median(samples[name].map(({ cpuSeconds }) => cpuSeconds)) / (content.length / 2 ** 30);
  console.log(
    `${name.padEnd(16)} ${spread(values, 0).padStart(22)}  ${rate.toFixed(0).padStart(5)} MB/s  ${ratio.toFixed(2)}  ${cpu.toFixed(2).padStart(5)} CPU s/GiB`,
  );
}
console.log(`\n${ownPeak()}`);
