import { type Address, addressOf } from "../../crypto/address.ts";
import { type RootFields, encodeRoot } from "../../format/root.ts";
import { type RootKeys, convergentRootKeys, randomKey } from "../../crypto/key-schedule.ts";
import type { WriteSettings } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import type { CountedOptions } from "./put-report.ts";
import { rootOverhead } from "../../format/envelope.ts";
import { sealRoot } from "../../crypto/seal.ts";
import { storeBlob } from "./store-blob.ts";

/** Seals and stores a root. Everything it refers to must already be stored. */
export async function writeRoot(
  context: StoreContext,
  settings: Pick<WriteSettings, "publicKeys" | "pad" | "dedupSecret">,
  fields: RootFields,
  { signal, counters }: CountedOptions,
): Promise<Address> {
  const { naCl, writeBuffers } = context;
  const { publicKeys, dedupSecret } = settings;
  const encoded = encodeRoot(fields, settings.pad);
  const overhead = rootOverhead(publicKeys.length);
  const buffer = writeBuffers.acquireAtLeast(overhead + encoded.length);
  const blob = buffer.subarray(0, overhead + encoded.length);
  // The plaintext is now in our own memory: the bytes hashed for the keys are the bytes sealed.
  const plaintext = blob.subarray(overhead);
  encoded.write(plaintext);
  const keys: RootKeys = dedupSecret
    ? convergentRootKeys(dedupSecret, publicKeys, plaintext)
    : { contentKey: randomKey(), ephemeralSecret: randomKey() };
  sealRoot(naCl, keys, publicKeys, plaintext, blob);
  const address = addressOf(blob);
  const convergent = dedupSecret !== undefined;
  const sent = await storeBlob(context, address, blob, { convergent, signal });
  counters?.root(sent, blob.length, fields.depth === 0 ? fields.contentLength : 0);
  writeBuffers.release(buffer);
  return address;
}
