/** Concurrent writers and readers of one backend that do not coordinate. */
import { type Backend, createStore, generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { expect, test } from "bun:test";

interface FleetOutcome {
  /** Distinct contents, and how many of them were read back correctly in total. */
  readonly contents: number;
  readonly read: number;
  /** PUT requests, and blobs at the end. */
  readonly puts: number;
  readonly blobs: number;
  /** Blobs that do not match their names. */
  readonly damaged: number;
}

/**
 * Writers put contents concurrently with a common dedup secret; half of the contents are the same for
 * all. Each has its own store, as if in its own process, and they share only the backend, which responds
 * late and out of order. Readers start during the writes with the addresses known so far, and read
 * everything at the end.
 */
async function simulateFleet(
  writers: number,
  readers: number,
  each: number,
): Promise<FleetOutcome> {
  const { backend, counts } = delayed(memory());
  const identity = await generateIdentity();
  const dedupSecret = crypto.getRandomValues(new Uint8Array(32));
  const open = () =>
    createStore({
      backend,
      recipients: [identity.recipient],
      identities: [identity],
      dedupSecret,
      chunkSize: 2 ** 18,
    });

  const addresses = new Map<string, { readonly seed: number; readonly length: number }>();
  const write = async (writer: number) => {
    await using store = open();
    for (let i = 0; i < each; i++) {
      // Even contents are common to all writers. All are larger than a root can hold.
      const content = { seed: i % 2 === 0 ? i : i + 1000 * (writer + 1), length: 1_300_000 + i };
      addresses.set(await store.put(bytesOf(content)), content);
    }
  };
  let read = 0;
  const readAll = async () => {
    await using store = open();
    for (const [address, content] of addresses) {
      const bytes = await (await store.get(address)).bytes();
      if (!Buffer.from(bytes).equals(bytesOf(content)))
        throw new Error(`${address} has other bytes`);
      read += 1;
    }
  };
  const lanes = (count: number, work: (lane: number) => Promise<void>) =>
    Promise.all(Array.from({ length: count }, (_, lane) => work(lane)));
  await Promise.all([lanes(writers, write), lanes(readers, readAll)]);
  read = 0;
  await lanes(readers, readAll);

  await using store = open();
  let [blobs, damaged] = [0, 0];
  for await (const { address } of store.list()) {
    blobs += 1;
    await store.verify(address).catch(() => (damaged += 1));
  }
  return { contents: addresses.size, read, puts: counts.puts, blobs, damaged };
}

/** Content determined by the seed, in which all chunks differ. */
function bytesOf({ seed, length }: { readonly seed: number; readonly length: number }): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 2_654_435_761) ^ seed;
  return new Uint8Array(words.buffer, 0, length);
}

/** A backend that delays its responses by random times. */
function delayed(backend: Backend): { backend: Backend; counts: { puts: number } } {
  const counts = { puts: 0 };
  const late = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  return {
    counts,
    backend: wrapBackend(backend, {
      put:
        (put) =>
        async (...call) => {
          counts.puts += 1;
          await late();
          await put(...call);
          await late();
        },
      get:
        (get) =>
        async (...call) => {
          await late();
          return get(...call);
        },
    }),
  };
}

test("independent writers and readers do not disturb each other", async () => {
  const [writers, readers, each] = [6, 3, 6];
  const outcome = await simulateFleet(writers, readers, each);
  // Half of each writer's contents are its own; the others are common to all.
  const contents = (writers * each) / 2 + each / 2;
  expect(outcome.contents).toBe(contents);
  expect(outcome.read).toBe(readers * contents);
  expect(outcome.damaged).toBe(0);
  // Five chunks and a root per content; common ones are stored once.
  expect(outcome.blobs).toBe(contents * 6);
  expect(outcome.puts).toBe(writers * each * 6);
});
