import { type Backend, createStore } from "../src/index.ts";
import { describe, expect, test } from "bun:test";
import { codeOf, drain, nacl, outcome, sha256, testdata } from "./support.ts";
import { parseIdentity, parseRecipient, publicKeyOf, secretKeyOf } from "../src/index.ts";
import { readdirSync, readFileSync } from "node:fs";
import type { Metadata } from "../src/index.ts";
import { fromHex, toHex } from "../src/bytes.ts";
import { join } from "node:path";
import { memory } from "../src/backend/memory.ts";
import { padme } from "../src/format/padding.ts";
import { readIdentityFile } from "../src/index.ts";
import { z } from "zod";

const Released = z.object({ length: z.number(), sha256: z.string() });
type Tagged = { text: string } | { uint: number } | { hex: string };
const Vector = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("blob"),
    name: z.string(),
    address: z.string(),
    identities: z.array(z.string()),
    range: z.object({ start: z.number(), end: z.number() }).optional(),
    expect: z.string(),
    released: Released.optional(),
    releasedAtMost: Released.optional(),
    size: z.number().optional(),
    // Kept as parsed, because zod's records omit the key "__proto__", which is one of the cases.
    metadata: z.custom<Record<string, Tagged>>().optional(),
    recipients: z.number().optional(),
    depth: z.number().optional(),
    slow: z.boolean().optional(),
    blobs: z.record(
      z.string(),
      z.union([z.object({ base64: z.string() }), z.object({ file: z.string() })]),
    ),
  }),
  z.object({
    type: z.literal("keyfile"),
    name: z.string(),
    hex: z.string(),
    passphrase: z.string(),
    expect: z.string(),
    secretKey: z.string().optional(),
  }),
  z.object({
    type: z.literal("recipient"),
    name: z.string(),
    text: z.string(),
    expect: z.string(),
    publicKey: z.string().optional(),
  }),
  z.object({
    type: z.literal("identity"),
    name: z.string(),
    text: z.string(),
    expect: z.string(),
    secretKey: z.string().optional(),
  }),
  z.object({
    type: z.literal("padme"),
    name: z.string(),
    pairs: z.array(z.tuple([z.number(), z.number()])),
  }),
]);
type Vector = z.infer<typeof Vector>;
type BlobVector = Extract<Vector, { type: "blob" }>;

const folder = join(testdata, "v1");
const vectors = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .toSorted()
  .map((name) => Vector.parse(JSON.parse(readFileSync(join(folder, name), "utf8"))));

/** A memory backend with the vector's blobs, whether or not they match their names. */
async function stored(vector: BlobVector): Promise<Backend> {
  const backend = memory();
  for (const [name, blob] of Object.entries(vector.blobs)) {
    const bytes =
      "file" in blob ? readFileSync(join(folder, blob.file)) : Buffer.from(blob.base64, "base64");
    await backend.put(name, bytes);
  }
  return backend;
}

/** The same blobs, delivered one byte at a time into a buffer with other data. */
function dribbling(backend: Backend): Backend {
  return {
    ...backend,
    async get(name, buffer, options) {
      const whole = new Uint8Array(buffer.length);
      const length = await backend.get(name, whole, options);
      buffer.fill(0xaa);
      for (let i = 0; i < length; i++) {
        buffer[i] = whole[i]!;
        if (i % 65_536 === 0) await Promise.resolve();
      }
      return length;
    },
  };
}

interface Outcome {
  readonly code: unknown;
  readonly released: Uint8Array;
}

type Reading = (backend: Backend, vector: BlobVector) => Promise<Outcome>;

function open(backend: Backend, vector: BlobVector) {
  const store = createStore({ backend, identities: vector.identities.map(parseIdentity), nacl });
  return store.get(vector.address, { range: vector.range });
}

const asStream: Reading = async (backend, vector) => {
  try {
    const blob = await open(backend, vector);
    const { bytes, error } = await drain(blob.stream());
    return { code: error === undefined ? "ok" : codeOf(error), released: bytes };
  } catch (error) {
    return { code: codeOf(error), released: new Uint8Array(0) };
  }
};

const readings: Record<string, Reading> = {
  "as a stream": asStream,
  "byte by byte": (backend, vector) => asStream(dribbling(backend), vector),
};

function metadataOf(tagged: NonNullable<BlobVector["metadata"]>): Metadata {
  const metadata: Record<string, string | number | Uint8Array> = Object.create(null);
  for (const [key, value] of Object.entries(tagged)) {
    if ("text" in value) metadata[key] = value.text;
    else if ("uint" in value) metadata[key] = value.uint;
    else metadata[key] = fromHex(value.hex);
  }
  return metadata;
}

function expectReleased(vector: BlobVector, released: Uint8Array) {
  if (vector.released) {
    expect({ length: released.length, sha256: sha256(released) }).toEqual(vector.released);
  } else if (vector.releasedAtMost) {
    expect(released.length).toBeLessThanOrEqual(vector.releasedAtMost.length);
    if (released.length === vector.releasedAtMost.length) {
      expect(sha256(released)).toBe(vector.releasedAtMost.sha256);
    }
  } else throw new Error("the vector does not say what may be released");
}

const BUFFER_MAX = 2 ** 31;
const slowLane = process.env["IDK_TEST_SLOW"] === "1";

describe("test vectors", () => {
  test("are complete", () => {
    expect(vectors.length).toBeGreaterThan(600);
  });

  for (const vector of vectors) {
    if (vector.type === "blob") {
      const run = vector.slow && !slowLane ? test.skip : test;
      for (const [how, reading] of Object.entries(readings)) {
        run(`${vector.name} ${how}`, async () => {
          const { code, released } = await reading(await stored(vector), vector);
          expect(code).toBe(vector.expect);
          expectReleased(vector, released);
        });
      }
      run(`${vector.name} as a buffer`, async () => {
        const backend = await stored(vector);
        const read = async (): Promise<Uint8Array> => {
          const blob = await open(backend, vector);
          const { start, end } = vector.range ?? { start: 0, end: blob.size };
          // A buffer is rejected in advance, so that no memory is reserved for what a root claims.
          if (end - start > BUFFER_MAX) await blob.stream().pipeTo(new WritableStream());
          return blob.bytes({ maxBytes: BUFFER_MAX });
        };
        if (vector.expect !== "ok") {
          expect(await outcome(read())).toBe(vector.expect);
          return;
        }
        expectReleased(vector, await read());
        const store = createStore({
          backend,
          identities: vector.identities.map(parseIdentity),
          nacl,
        });
        const { depth, metadata, recipients } = await store.stat(vector.address);
        expect(depth).toBe(vector.depth!);
        expect(recipients).toBe(vector.recipients!);
        expect(metadata).toEqual(metadataOf(vector.metadata!));
      });
    } else {
      test(vector.name, async () => {
        switch (vector.type) {
          case "padme":
            for (const [length, padded] of vector.pairs) expect(padme(length)).toBe(padded);
            return;
          case "recipient":
            expect(attempt(() => toHex(publicKeyOf(parseRecipient(vector.text))))).toBe(
              vector.publicKey ?? vector.expect,
            );
            return;
          case "identity":
            expect(attempt(() => toHex(secretKeyOf(parseIdentity(vector.text))))).toBe(
              vector.secretKey ?? vector.expect,
            );
            return;
          case "keyfile": {
            const read = await readIdentityFile(fromHex(vector.hex), vector.passphrase).then(
              ([identity]) => toHex(secretKeyOf(identity!)),
              codeOf,
            );
            expect(read).toBe(vector.secretKey ?? vector.expect);
          }
        }
      });
    }
  }
});

function attempt(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    return codeOf(error);
  }
}
