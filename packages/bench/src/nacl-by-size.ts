/**
 * The two NaCl implementations by message size: whether the portable one is faster for any size. The
 * decision on how the implementation is chosen cites these figures.
 *
 * Usage: bun (or node, after a build) packages/bench/src/nacl-by-size.ts
 */
import { loadNaCl } from "@idk/storage";
import { type Sample, interleavedSamples, summarize } from "./harness/measure.ts";
import { measuredTasks, describePeak } from "./harness/processes.ts";

const native = await loadNaCl("native");
const portable = await loadNaCl("portable");
const key = new Uint8Array(32).fill(1);
const nonce = new Uint8Array(24);

/** Columns with the microseconds and CPU microseconds of a call. */
const perCall = (samples: readonly Sample[], calls: number): string => {
  const { seconds, cpuSeconds } = summarize(samples);
  const micros = (value: number) => ((value * 1e6) / calls).toFixed(2).padStart(12);
  return micros(seconds) + micros(cpuSeconds);
};

console.log("sealing, microseconds per call and of CPU time, as median of 9");
console.log("bytes           native         CPU    portable         CPU");
for (const length of [32, 64, 256, 1024, 4096, 16_384, 65_536, 1_048_576, 4_194_304]) {
  const message = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
  const plaintext = new Uint8Array(length);
  plaintext.set(message);
  const box = new Uint8Array(length + 16);
  const calls = Math.max(1, Math.min(2000, Math.floor(2 ** 21 / length)));
  const sealing = (naCl: typeof native) => () => {
    for (let i = 0; i < calls; i++) naCl.seal(box, plaintext, nonce, key);
  };
  const tasks = measuredTasks({ native: sealing(native), portable: sealing(portable) });
  const samples = await interleavedSamples(9, tasks);
  console.log(
    String(length).padEnd(10) + perCall(samples.native, calls) + perCall(samples.portable, calls),
  );
}

console.log("\nX25519, the same");
const agreeing = (naCl: typeof native) => {
  const publicKey = naCl.publicKey(key);
  return () => {
    for (let i = 0; i < 200; i++) naCl.x25519(key, publicKey);
  };
};
const agreed = await interleavedSamples(
  9,
  measuredTasks({ native: agreeing(native), portable: agreeing(portable) }),
);
console.log(" ".repeat(10) + perCall(agreed.native, 200) + perCall(agreed.portable, 200));
console.log(describePeak());
