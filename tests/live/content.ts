import { createCipheriv, createHash } from "node:crypto";

/** Pseudorandom content, the same for a given size and seed, and never held in memory as a whole. */
export interface TestContent {
  readonly size: number;
  readonly sha256: string;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
}

export const MiB: number = 1024 * 1024;

export function testContent(size: number, seed: number): TestContent {
  const stream = () => new ReadableStream(source(size, seed), { highWaterMark: 1 });
  const hash = createHash("sha256");
  for (const piece of pieces(size, seed)) hash.update(piece);
  return { size, sha256: hash.digest("hex"), stream };
}

export async function sha256Of(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of stream) hash.update(piece);
  return hash.digest("hex");
}

function source(size: number, seed: number): UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> {
  const iterator = pieces(size, seed);
  return {
    pull(controller) {
      const { done, value } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  };
}

function* pieces(size: number, seed: number): Generator<Uint8Array<ArrayBuffer>, undefined> {
  const key = Buffer.alloc(16, seed);
  const cipher = createCipheriv("aes-128-ctr", key, Buffer.alloc(16));
  const zeros = Buffer.alloc(MiB);
  for (let left = size; left > 0; left -= zeros.length) {
    yield new Uint8Array(cipher.update(zeros.subarray(0, Math.min(left, zeros.length))));
  }
  return undefined;
}
