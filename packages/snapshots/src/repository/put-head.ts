import type { NaCl } from "@idk/storage";
import { type Head, encodeHead, encodePayload } from "../format/records/head.ts";
import { type Marker, formatMarker } from "../format/names/marker.ts";
import { type WriterKey, signPayload } from "../format/keys/writer.ts";
import type { MarkerBackend } from "./marker-backend.ts";
import { sealRecord } from "./records.ts";

/**
 * Signs and stores a head, and then its marker: each durable before the next.
 *
 * @param head whose writer is that of the key
 */
export async function putHead(
  { backend, naCl }: { readonly backend: MarkerBackend; readonly naCl: NaCl },
  key: WriterKey,
  head: Head,
  recipients: readonly string[],
  signal?: AbortSignal,
): Promise<Marker> {
  const payload = encodePayload(head);
  const content = encodeHead({ payload, signature: signPayload(key, payload) });
  const { address, blob } = sealRecord(naCl, "head", content, recipients);
  const options = signal ? { signal } : {};
  await backend.put(address, blob, { ...options, sha256: address });
  const marker = { chain: head.chain, generation: head.generation, address };
  await backend.putMarker(formatMarker(marker), options);
  return marker;
}
