/**
 * The two NaCl implementations by size of the message: where, if anywhere, the portable one is the
 * faster. Behind the record of how the implementation is chosen.
 *
 * Usage: bun (or node, after a build) packages/bench/src/nacl-by-size.ts
 */
import { interleaved, median } from "./measure.ts";
import { loadNaCl } from "@idk/storage";

const native = await loadNaCl("native");
const portable = await loadNaCl("portable");
const key = new Uint8Array(32).fill(1);
const nonce = new Uint8Array(24);

console.log("bytes       native us   portable us   sealing, median of 9");
for (const length of [32, 64, 256, 1024, 4096, 16_384, 65_536, 1_048_576, 4_194_304]) {
  const message = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
  const plaintext = new Uint8Array(length);
  plaintext.set(message);
  const box = new Uint8Array(length + 16);
  const calls = Math.max(1, Math.min(2000, Math.floor(2 ** 21 / length)));
  const sealing = (naCl: typeof native) => () => {
    for (let i = 0; i < calls; i++) naCl.seal(box, plaintext, nonce, key);
  };
  const times = await interleaved(9, { native: sealing(native), portable: sealing(portable) });
  const perCall = (values: readonly number[]) => ((median(values) * 1000) / calls).toFixed(2);
  console.log(
    `${String(length).padEnd(10)} ${perCall(times.native).padStart(10)}  ${perCall(times.portable).padStart(12)}`,
  );
}

console.log("\nX25519, us");
for (const naCl of [native, portable]) {
  const publicKey = naCl.publicKey(key);
  const { agree } = await interleaved(9, {
    agree: () => {
      for (let i = 0; i < 200; i++) naCl.x25519(key, publicKey);
    },
  });
  console.log(`${naCl.name.padEnd(10)} ${((median(agree) * 1000) / 200).toFixed(1).padStart(10)}`);
}
