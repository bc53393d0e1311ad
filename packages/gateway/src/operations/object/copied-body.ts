import type { ChecksumAlgorithm } from "../../body/algorithms.ts";
import { createDigester } from "../../body/digester.ts";
import type { OpenedObject } from "../../catalog/records.ts";
import type { ByteRange, IncomingBody, Objects } from "../../objects/objects.ts";

/**
 * Stored content as a body to store again, for its checksum: of content that is shared, nobody reads the
 * bytes, and so a checksum that the source does not have cannot be known.
 *
 * @param range by default all
 */
export function copiedBody(
  objects: Objects,
  source: OpenedObject,
  algorithm: ChecksumAlgorithm,
  { range, signal }: { readonly range?: ByteRange | undefined; readonly signal: AbortSignal },
): IncomingBody {
  const { start, end } = range ?? { start: 0, end: source.object.size };
  const digester = createDigester(["md5", algorithm]);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    if (start === end) return;
    for await (const piece of objects.readForCopy(source, { start, end }, signal)) {
      await digester.update(piece);
      yield piece;
    }
  }
  return {
    bytes: bytes(),
    length: end - start,
    async digests() {
      const digests = await digester.digest();
      return {
        md5: Buffer.from(digests.get("md5")!).toString("hex"),
        checksums: { [algorithm]: Buffer.from(digests.get(algorithm)!).toString("base64") },
      };
    },
  };
}
