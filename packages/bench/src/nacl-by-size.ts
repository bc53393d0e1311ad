/**
 * The two NaCl implementations by size of the message: where, if anywhere, the portable one is the
 * faster. Behind the record of how the implementation is chosen.
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

/** Microseconds of a call, and the CPU time in it: columns for people. */
const perCall = (samples: readonly Sample[], calls: number): string => {
  const { seconds, cpuSeconds } = summarize(samples);
  const micros = (value: number) => ((value * 1e6) / calls).toFixed(2).padStart(12);
  return micros(seconds) + micros(cpuSeconds);
};

console.log("sealing, microseconds as median of 9, and those of CPU time");
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

console.log("\nX25519, likewise");
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
