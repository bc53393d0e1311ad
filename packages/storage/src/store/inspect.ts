import { throwIfAborted } from "../abort.ts";
import { CHILD_BLOB_MAX, TAG_LENGTH } from "../format/limits.ts";
import { StorageError } from "../errors.ts";
import type { BlobInspection } from "./reports.ts";
import type { CallOptions } from "./options.ts";
import type { StoreContext } from "./context.ts";
import { allocate } from "./buffers.ts";
import { assertEphemeral } from "../crypto/wrap.ts";
import { fetchBlob } from "./fetch.ts";
import { inspectBlob } from "./inspect-blob.ts";
import { parseAddress } from "../content/address.ts";
import { splitEnvelope } from "../format/envelope.ts";

/** What a blob shows without a key; see `Store.inspect`. */
export async function inspect(
  context: StoreContext,
  text: string,
  { signal }: CallOptions,
): Promise<BlobInspection> {
  const address = parseAddress(text);
  throwIfAborted(signal);
  const { backend } = context;
  const blob = await fetchBlob(backend, address, allocate(CHILD_BLOB_MAX), signal);
  const { kind, header } = inspectBlob(address, blob);
  if (kind === "root") assertEphemeral(header.ephemeral);
  const info = await backend.head(address, { signal }).catch(unlessPermission);
  const { prefix, body } = splitEnvelope(blob);
  return {
    address,
    kind,
    version: prefix[3]!,
    storedBytes: blob.length,
    prefixBytes: prefix.length,
    sealedBytes: body.length - TAG_LENGTH,
    commitment: new Uint8Array(header.commitment),
    ...(kind === "root" && {
      ephemeral: new Uint8Array(header.ephemeral),
      recipients: header.slots.length,
    }),
    attested: info?.sha256 === undefined ? undefined : info.sha256 === address,
    storedAt: info?.storedAt,
    encryption: info?.encryption,
  };
}

/** Who may read blobs need not be allowed to ask for more. */
function unlessPermission(error: unknown): undefined {
  if (error instanceof StorageError && error.code === "permission") return;
  throw error;
}
