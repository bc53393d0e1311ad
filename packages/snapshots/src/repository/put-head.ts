import type { NaCl } from "@idk/storage";
import { type Head, encodeHead, encodePayload } from "../format/records/head.ts";
import { type Marker, formatMarker } from "../format/names/marker.ts";
import { type WriterKey, signPayload } from "../format/keys/writer.ts";
import type { MarkerBackend } from "./marker-backend.ts";
import { sealRecord } from "./records.ts";

/** Options of `putHead`. */
export interface PutHeadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Is awaited between the head and its marker: if it throws, the head does not come into being. */
  readonly beforeMarker?: (() => Promise<void>) | undefined;
}

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
  { signal, beforeMarker }: PutHeadOptions = {},
): Promise<Marker> {
  const payload = encodePayload(head);
  const content = encodeHead({ payload, signature: signPayload(key, payload) });
  const { address, blob } = sealRecord(naCl, "head", content, recipients);
  const options = signal ? { signal } : {};
  await backend.put(address, blob, { ...options, sha256: address });
  await beforeMarker?.();
  const marker = { chain: head.chain, generation: head.generation, address };
  await backend.putMarker(formatMarker(marker), options);
  return marker;
}
