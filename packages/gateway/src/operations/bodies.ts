import type { CheckedBody } from "../body/read-body.ts";
import type { IncomingBody } from "../objects/objects.ts";

/** Reads a short body. Its plan has limited its length. */
export async function readAll({ bytes }: CheckedBody): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  // A piece is valid only until the next one.
  for await (const piece of bytes) pieces.push(Uint8Array.from(piece));
  return Buffer.concat(pieces);
}

/** A body as the content of an object or part, with its digests as the catalog has them. */
export function contentOf(body: CheckedBody): IncomingBody {
  return {
    bytes: body.bytes,
    length: body.length,
    async digests() {
      const { md5, checksums } = await body.digests();
      return { md5: Buffer.from(md5).toString("hex"), checksums: checksums?.values ?? {} };
    },
  };
}
