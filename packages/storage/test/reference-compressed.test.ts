import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { alice, nacl, random, sha256 } from "./support.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { type Reference, referencePython, startReference } from "./reference.ts";
import { createStore, formatIdentity } from "../src/index.ts";
import { encodeContent } from "../src/content/compression/compress.ts";
import fc from "fast-check";
import { filesystem } from "../src/backend/filesystem.ts";
import { join } from "node:path";
import { byteReader } from "../src/content/byte-reader.ts";
import { prose } from "./content/compression/frames.ts";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";

const KIB = 1024;
const MIB = 1024 * KIB;

describe.skipIf(referencePython === undefined)("the independent reader in Python", () => {
  let reference: Reference;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "idk-reference-"));
    reference = startReference();
  });
  afterAll(async () => {
    await reference[Symbol.asyncDispose]();
    await rm(dir, { recursive: true });
  });

  const sizes = [0, 1, 256 * KIB, MIB - 1, MIB, MIB + 1, 5 * MIB + 7];
  const cases = (["zstd", "lz4"] as const).flatMap((compression) =>
    sizes.flatMap((size) => [
      { compression, size, kind: "text", content: () => prose(size) },
      { compression, size, kind: "noise", content: () => random(size) },
    ]),
  );
  test.each(cases)("opens $size bytes of $kind, put with $compression", async (known) => {
    const content = known.content();
    const store = createStore({
      backend: filesystem(dir, { durability: "none" }),
      recipients: [alice.recipient],
      chunkSize: 256 * KIB,
      compression: known.compression,
      nacl,
    });
    const address = await store.put(content);
    const read = await reference.ask({
      op: "read",
      dir,
      address,
      identities: [formatIdentity(alice)],
    });
    expect(read).toMatchObject({
      ok: true,
      size: content.length,
      sha256: sha256(content),
      metadata: { enc: { text: known.compression }, len: { uint: content.length } },
    });
  });

  /** Decodes frames with the libraries' own whole-frame calls: base64 in and out, one per line. */
  const DECODE = `
import base64, sys
import lz4.frame
from backports import zstd
for line in sys.stdin:
    enc, text = line.split()
    frame = base64.b64decode(text)
    if enc == "lz4":
        content, read = lz4.frame.decompress(frame, return_bytes_read=True)
        assert read == len(frame)
    else:
        decoder = zstd.ZstdDecompressor()
        content = decoder.decompress(frame)
        assert decoder.eof and not decoder.unused_data
    print(base64.b64encode(content).decode())
`;

  test("decodes every frame, especially at the ends of blocks", async () => {
    // Encoders fail on matches near the end of a block, so the content repeats at any distance from
    // there, in full blocks and in others.
    const ends = fc.sample(
      fc.record({
        length: fc.oneof(fc.nat(80), fc.constantFrom(256 * KIB, 256 * KIB + 13, 512 * KIB)),
        period: fc.integer({ min: 1, max: 40 }),
        tail: fc.nat(14),
        seed: fc.nat(),
      }),
      { numRuns: 200, seed: 1 },
    );
    const contents = ends.map(({ length, period, tail, seed }) => {
      const bytes = new Uint8Array(length);
      for (let i = 0; i < length; i++) {
        const fresh = i < period || (i >= length - tail && length > tail);
        bytes[i] = fresh ? Math.imul(i + seed, 2_654_435_761) >>> 24 : bytes[i - period]!;
      }
      return bytes;
    });
    for (const enc of ["lz4", "zstd"] as const) {
      const lines: string[] = [];
      for (const content of contents) {
        const { reader } = await encodeContent(byteReader(content), enc, undefined);
        const frame = new Uint8Array(await reader.lookAhead(MIB));
        await reader.fill(frame);
        lines.push(`${enc} ${Buffer.from(frame).toString("base64")}\n`);
      }
      const run = spawnSync(referencePython!, ["-c", DECODE], {
        input: lines.join(""),
        maxBuffer: 2 ** 28,
      });
      expect(run.stderr.toString()).toBe("");
      const decoded = run.stdout.toString().split("\n").slice(0, -1);
      expect(decoded.length).toBe(contents.length);
      for (const [i, content] of contents.entries()) {
        expect(sha256(Buffer.from(decoded[i]!, "base64"))).toBe(sha256(content));
      }
    }
  });
});
