/** Many writers and readers of one store, each by itself: what they need of each other is nothing. */
import { type Backend, createStore, generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";

export interface FleetOutcome {
  /** Contents that were put, and read back right by every reader. */
  readonly contents: number;
  readonly read: number;
  /** PUT requests, and how many blobs there are in the end. */
  readonly puts: number;
  readonly blobs: number;
  /** Blobs that are not what their name says. */
  readonly damaged: number;
}

/**
 * Writers put contents at the same time, part of which they all have, with a common dedup secret.
 * Each has a store of its own, as each would have a process; they share the backend alone, whose
 * answers come late and out of order. Readers begin while they write, with the addresses that are
 * there, and read everything in the end.
 */
export async function simulateFleet(
  writers: number,
  readers: number,
  each: number,
): Promise<FleetOutcome> {
  const { backend, counts } = restless(memory());
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
      // The even ones are everybody's, and longer than a root holds.
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
        throw new Error(`${address} came back changed`);
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

/** Content that tells itself apart, of which every chunk differs. */
function bytesOf({ seed, length }: { readonly seed: number; readonly length: number }): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 2_654_435_761) ^ seed;
  return new Uint8Array(words.buffer, 0, length);
}

/** A backend whose answers wait for a turn or more of the event loop, each for another time. */
function restless(backend: Backend): { backend: Backend; counts: { puts: number } } {
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
