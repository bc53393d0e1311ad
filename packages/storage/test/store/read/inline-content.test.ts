import { alice, drain, nacl, random } from "../../support.ts";
import { expect, test } from "bun:test";
import { createStore } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";

/** A store that counts its downloads. */
function countedStore() {
  const backend = memory();
  const counts = { get: 0 };
  const get: typeof backend.get = (...call) => {
    counts.get += 1;
    return backend.get(...call);
  };
  const store = createStore({
    backend: { ...backend, get },
    recipients: [alice.recipient],
    identities: [alice],
    nacl,
  });
  return { store, counts };
}

test("fetches inline content once for the first read, and again for the next", async () => {
  const { store, counts } = countedStore();
  const content = random(100_000);
  const blob = await store.get(await store.put(content));
  expect(counts.get).toBe(1);
  expect((await drain(blob.stream())).bytes).toEqual(content);
  expect(counts.get).toBe(1);
  expect(await blob.bytes()).toEqual(content);
  expect(counts.get).toBe(2);
});

test("keeps the content of several handles separate", async () => {
  const { store } = countedStore();
  const contents = Array.from({ length: 20 }, () => random(50_000));
  const addresses = await Promise.all(contents.map((content) => store.put(content)));
  const blobs = await Promise.all(addresses.map((address) => store.get(address)));
  for (const address of addresses) await (await store.get(address)).bytes();
  const read = await Promise.all(blobs.map((blob) => blob.bytes()));
  expect(read).toEqual(contents);
});

test("gives concurrent reads of one handle all of the content", async () => {
  const { store } = countedStore();
  const content = random(200_000);
  const blob = await store.get(await store.put(content));
  const streamed = async () => (await drain(blob.stream())).bytes;
  const readings = [blob.bytes(), streamed(), blob.bytes(), streamed()];
  for (const read of await Promise.all(readings)) expect(read).toEqual(content);
});

test("streams memory that belongs to the consumer", async () => {
  const { store } = countedStore();
  const content = random(200_000);
  const address = await store.put(content);
  const pieces: Uint8Array[] = [];
  for await (const piece of (await store.get(address)).stream()) pieces.push(piece);
  for (let i = 0; i < 5; i++) await (await store.get(await store.put(random(200_000)))).bytes();
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
});
