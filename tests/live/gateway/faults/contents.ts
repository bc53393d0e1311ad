import { randomBytes } from "node:crypto";
import { md5 } from "../s3-requests.ts";

/** All content that was ever sent, by the ETag that it must have. */
export interface Contents {
  /** New content, with the ETag of a single PUT. */
  make(size: number): { readonly body: Buffer; readonly etag: string };
  /** Remembers content that is uploaded in parts, each made before, and gives its ETag. */
  join(parts: readonly { readonly body: Buffer; readonly etag: string }[]): string;
  /** Undefined if nobody sent such content. */
  find(etag: string): Buffer | undefined;
}

/** Content comes from here, with a number of its own in front. */
const POOL = randomBytes(6 * 2 ** 20);
const NUMBER_LENGTH = 8;

export function createContents(): Contents {
  const made = new Map<string, () => Buffer>();
  let count = 0;
  const contentOf = (number: number, size: number): Buffer => {
    const body = Buffer.from(POOL.subarray(0, size));
    const prefix = Buffer.alloc(NUMBER_LENGTH);
    prefix.writeDoubleBE(number);
    prefix.copy(body);
    return body;
  };
  return {
    make(size) {
      const number = (count += 1);
      const body = contentOf(number, Math.max(size, NUMBER_LENGTH));
      const etag = md5(body);
      made.set(etag, () => contentOf(number, body.length));
      return { body, etag };
    },
    join(parts) {
      const digests = parts.map(({ etag }) => Buffer.from(etag, "hex"));
      const etag = `${md5(Buffer.concat(digests))}-${parts.length}`;
      const sources = parts.map((part) => made.get(part.etag)!);
      made.set(etag, () => Buffer.concat(sources.map((source) => source())));
      return etag;
    },
    find: (etag) => made.get(etag)?.(),
  };
}
