import { type ChildHeader, type RootHeader, decodeHeader } from "../format/header.ts";
import { ROOT_BLOB_MAX } from "../format/limits.ts";
import { StorageError } from "../errors.ts";
import { splitEnvelope } from "../format/envelope.ts";

/** What a blob shows without a key. */
export type InspectedBlob =
  | { readonly kind: "root"; readonly header: RootHeader }
  | { readonly kind: "child"; readonly header: ChildHeader };

/**
 * Checks the envelope of a blob whose bytes match its name.
 *
 * @throws StorageError `format`, `limit`
 */
export function inspectBlob(address: string, blob: Uint8Array): InspectedBlob {
  const header = decodeHeader(splitEnvelope(blob).header);
  if (header.ephemeral === undefined) return { kind: "child", header };
  if (blob.length > ROOT_BLOB_MAX) {
    throw new StorageError("limit", `the root ${address} is too long`);
  }
  return { kind: "root", header };
}
