// Runs on Node, and from an installed package on Bun: writes the known answers and reads them back, and
// content of the sizes at which the format changes shape, over both backends.
// Usage: node node-round-trip.mjs native|portable [brief]. Brief leaves out content of 33 MiB.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createStore, parseIdentity } from "@idk/storage";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { filesystem } from "@idk/storage/filesystem";
import { join } from "node:path";
import { memory } from "@idk/storage/memory";
import { tmpdir } from "node:os";
import zlib from "node:zlib";

const [nacl, brief] = process.argv.slice(2);
const answers = JSON.parse(
  await readFile(new URL("../../testdata/known-answers.json", import.meta.url), "utf8"),
);
const identities = answers.identities.map(({ identity }) => parseIdentity(identity));
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

function contentOf({ content, size }) {
  const quoted = /'(.*)'/u.exec(content)?.[1];
  if (quoted !== undefined) return new TextEncoder().encode(quoted);
  return Uint8Array.from({ length: size }, (_, i) => (7 * i + (i >> 8)) & 255);
}

for (const known of answers.cases) {
  const store = createStore({
    backend: memory(),
    identities,
    recipients: known.recipients.map((i) => identities[i].recipient),
    dedupSecret: Buffer.from(answers.dedupSecret, "hex"),
    nacl,
  });
  const address = await store.put(contentOf(known), {
    metadata: known.metadata,
    chunkSize: 2 ** known.chunkSizeLog2,
    padding: known.padding,
  });
  assert.equal(address, known.address);
  assert.equal(sha256(await (await store.get(address)).bytes()), known.contentSha256);
}

let roundTrips = 0;
const dir = await mkdtemp(join(tmpdir(), "idk-node-"));
try {
  for (const backend of [memory(), filesystem(dir)]) {
    const [alice] = identities;
    const store = createStore({
      backend,
      identities: [alice],
      recipients: [alice.recipient],
      nacl,
    });
    for (const size of [0, 2 ** 20 + 1, 5 * 2 ** 20]) {
      const content = randomBytes(size);
      const address = await store.put(new Blob([content]).stream());
      const hash = createHash("sha256");
      for await (const piece of (await store.get(address)).stream()) hash.update(piece);
      assert.equal(hash.digest("hex"), sha256(content));
      await store.verify(address, { deep: true });
      roundTrips += 1;
    }
  }
} finally {
  await rm(dir, { recursive: true });
}

// Large content is sealed in worker threads, as on Bun, and they do not keep the process alive.
const entry = import.meta.resolve("@idk/storage");
const pool = `./store/workers/pool${entry.slice(entry.lastIndexOf("."))}`;
const { createLeafWorkers } = await import(new URL(pool, entry));
const threads = createLeafWorkers(nacl, 1);
let ready;
while (ready === undefined) ready = await threads.ready();
const leaf = new Uint8Array(59 + 1000);
const sealed = await ready.seal({
  buffer: leaf,
  length: 1000,
  dedupSecret: undefined,
  known: undefined,
});
assert.equal(leaf.length, 0);
assert.equal(sha256(sealed.buffer), sealed.reference.address);
if (brief === undefined) {
  const [alice] = identities;
  const store = createStore({
    backend: memory(),
    identities: [alice],
    recipients: [alice.recipient],
    nacl,
    workers: 2,
  });
  const content = randomBytes(33 * 2 ** 20);
  const blob = await store.get(await store.put(content));
  assert.equal(sha256(await blob.bytes()), sha256(content));
}

// Older versions of Node have no zstd: asking for it fails, and auto uses LZ4.
const hasZstd = zlib.createZstdCompress !== undefined;
const store = createStore({
  backend: memory(),
  identities: [identities[0]],
  recipients: [identities[0].recipient],
  nacl,
});
const text = Buffer.from("a line of text that repeats\n".repeat(100_000));
for (const [compression, enc] of [
  ["lz4", "lz4"],
  ["auto", hasZstd ? "zstd" : "lz4"],
  ...(hasZstd ? [["zstd", "zstd"]] : []),
]) {
  for (const content of [text, Buffer.concat([text, randomBytes(3 * 2 ** 20)]), Buffer.alloc(0)]) {
    const blob = await store.get(await store.put(new Blob([content]), { compression }));
    if (compression !== "auto" || content.length > 0) assert.equal(blob.metadata.enc, enc);
    assert.equal(sha256(await blob.bytes()), sha256(content));
    roundTrips += 1;
  }
}
if (!hasZstd) await assert.rejects(store.put("x", { compression: "zstd" }), { code: "usage" });
console.log(`${nacl}: ${answers.cases.length} known answers, ${roundTrips} round trips`);
