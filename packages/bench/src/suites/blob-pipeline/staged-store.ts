/* The stages of a put, measured by wrapping the NaCl and the backend of the store. */
import { readFile } from "node:fs/promises";
import { type Identity, type NaCl, loadNaCl, wrapBackend } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { compressFrame } from "lz4-napi";
import { openStore } from "./contenders.ts";
import type { StageTimes } from "./stages.ts";

/**
 * @returns puts a file and returns the time of each stage. `key` is X25519, `encrypt` is secretbox and
 *   `write` is the backend's put; `compress` runs the same codec separately on the same bytes; `encode`
 *   is the rest: derived keys, layout, SHA-256, and the store's overhead around the codec.
 */
export async function stagedStore(
  folder: string,
  identity: Identity,
): Promise<(source: string) => Promise<StageTimes>> {
  const spent = { key: 0, encrypt: 0, write: 0 };
  const naCl = timedNaCl(await loadNaCl(), spent);
  const backend = wrapBackend(filesystem(folder, { durability: "none" }), {
    put:
      (put) =>
      async (...call) => {
        const start = performance.now();
        await put(...call);
        spent.write += secondsSince(start);
      },
  });
  const { store } = openStore(folder, identity, { nacl: naCl, backend });
  return async (source) => {
    Object.assign(spent, { key: 0, encrypt: 0, write: 0 });
    const start = performance.now();
    const bytes = await readFile(source);
    const read = secondsSince(start);
    await store.put(bytes);
    const whole = secondsSince(start);
    const { key, encrypt, write } = spent;

    const again = performance.now();
    await compressFrame(bytes);
    const compress = secondsSince(again);
    const encode = Math.max(0, whole - read - compress - key - encrypt - write);
    return { read, compress, key, encrypt, encode, write };
  };
}

function timedNaCl(inner: NaCl, spent: { key: number; encrypt: number }): NaCl {
  const timed =
    <Call extends readonly unknown[], Result>(
      stage: keyof typeof spent,
      call: (...args: Call) => Result,
    ) =>
    (...args: Call): Result => {
      const start = performance.now();
      const result = call(...args);
      spent[stage] += secondsSince(start);
      return result;
    };
  return {
    name: inner.name,
    seal: timed("encrypt", inner.seal),
    open: inner.open,
    x25519: timed("key", inner.x25519),
    publicKey: timed("key", inner.publicKey),
  };
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}
