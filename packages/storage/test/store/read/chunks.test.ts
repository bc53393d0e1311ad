import { aliceStore, outcome, random } from "../../support.ts";
import { expect, test } from "bun:test";

const CHUNK = 2 ** 18;

async function gathered(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const copies: Uint8Array[] = [];
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk));
  return copies;
}

test.each([0, 1000, 2 ** 20, 2 ** 20 + 1, 9 * CHUNK])(
  "the chunks of %p bytes are the content",
  async (size) => {
    const content = random(size);
    const store = aliceStore({ chunkSize: CHUNK, padding: "none" });
    const blob = await store.get(await store.put(content));
    const chunks = await gathered(blob.chunks());
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
    // Inline content is one piece; a tree gives its chunks.
    const expected = size <= 2 ** 20 ? Math.min(1, size) : Math.ceil(size / CHUNK);
    expect(chunks).toHaveLength(expected);
  },
);

test("chunks reuse their memory", async () => {
  const store = aliceStore({ chunkSize: CHUNK, concurrency: 1 });
  const blob = await store.get(await store.put(random(40 * CHUNK)));
  const memory = new Set<ArrayBufferLike>();
  for await (const chunk of blob.chunks()) memory.add(chunk.buffer);
  expect(memory.size).toBeLessThan(10);
});

test("chunks respect a range and a start", async () => {
  const content = random(5 * CHUNK);
  const store = aliceStore({ chunkSize: CHUNK });
  const address = await store.put(content);
  const range = { start: CHUNK - 5, end: 2 * CHUNK + 7 };
  const some = await gathered((await store.get(address, { range })).chunks());
  expect(Buffer.concat(some).equals(content.subarray(range.start, range.end))).toBe(true);
  const rest = await gathered((await store.get(address)).chunks({ start: 3 * CHUNK + 1 }));
  expect(Buffer.concat(rest).equals(content.subarray(3 * CHUNK + 1))).toBe(true);
});

test("chunks of compressed content are decompressed", async () => {
  const content = Buffer.from("again and again, ".repeat(100_000));
  const store = aliceStore();
  const blob = await store.get(await store.put(content, { compression: "lz4" }));
  expect(Buffer.concat(await gathered(blob.chunks())).equals(content)).toBe(true);
});

test("leaving the loop early does not harm the store", async () => {
  const content = random(20 * CHUNK);
  const store = aliceStore({ chunkSize: CHUNK });
  const blob = await store.get(await store.put(content));
  for await (const chunk of blob.chunks()) {
    expect(chunk.length).toBe(CHUNK);
    break;
  }
  expect(await blob.bytes()).toEqual(content);
});

test("the chunks before a fault are still yielded", async () => {
  const store = aliceStore({ chunkSize: CHUNK, padding: "none" });
  const address = await store.put(random(8 * CHUNK));
  const names: string[] = [];
  for await (const name of store.treeAddresses(address)) names.push(name);
  await store.delete(names[5]!);
  let read = 0;
  const reading = async () => {
    for await (const chunk of (await store.get(address)).chunks()) read += chunk.length;
  };
  expect(await outcome(reading())).toBe("not-found");
  expect(read).toBe(5 * CHUNK);
});
