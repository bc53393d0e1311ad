import { assertOptions, checkPutOptions } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import type { Address } from "../../crypto/address.ts";
import type { ReadOptions } from "../options.ts";
import { metadataEntries } from "../../format/metadata.ts";
import { readRoot } from "../read/read-root.ts";
import { writeRoot } from "../write/write-root.ts";

/** Writes a new root over the same chunks; see `Store.rewrap`. */
export async function rewrap(
  context: StoreContext,
  address: string,
  recipients: readonly string[],
  options: ReadOptions,
): Promise<Address> {
  assertOptions(options);
  const settings = checkPutOptions(context.defaults, { recipients });
  const { shape, contentLength, padding, metadata, body } = await readRoot(
    context,
    address,
    options,
  );
  const { depth } = shape;
  const fields = {
    depth,
    chunkLog2: depth === 0 ? 0 : Math.log2(shape.chunkSize),
    contentLength,
    padding,
    metadata: metadataEntries(metadata),
    body,
  };
  return writeRoot(context, settings, fields, { signal: options.signal });
}
