import { type Address, parseAddress } from "../../crypto/address.ts";
import { throwIfAborted } from "../../abort.ts";
import { CHILD_BLOB_MAX, TAG_LENGTH } from "../../format/limits.ts";
import { StorageError } from "../../errors.ts";
import type { CallOptions } from "../options.ts";
import type { StoreContext } from "../context.ts";
import { allocate } from "../buffers.ts";
import { assertEphemeral } from "../../crypto/wrap-key.ts";
import { fetchBlob } from "../read/fetch.ts";
import { inspectBlob, splitEnvelope } from "../../format/envelope.ts";

/** What a blob reveals without a key. */
export interface BlobInspection {
  readonly address: Address;
  /** `root` if the header has recipients; `child` for a chunk or node, which look the same. */
  readonly kind: "root" | "child";
  /** Version of the format. */
  readonly version: number;
  /** Bytes of the blob: prefix, tag of 16, and sealed bytes. */
  readonly storedBytes: number;
  /** Bytes of the magic number, version, header length and header. */
  readonly prefixBytes: number;
  /** Bytes sealed: content or references, the metadata of a root, and padding. */
  readonly sealedBytes: number;
  /** Commitment to the content key, 32 bytes; reveals nothing about the key. */
  readonly commitment: Uint8Array;
  /** For roots, the ephemeral public key, 32 bytes. */
  readonly ephemeral?: Uint8Array | undefined;
  /** For roots, how many keys open it, 1 to 1024. Whose they are is not visible. */
  readonly recipients?: number | undefined;
  /**
   * Whether the SHA-256 that the server verified at upload matches the address; undefined if the
   * server keeps no SHA-256, or is not yet known to.
   */
  readonly verifiedByServer: boolean | undefined;
  /** When it was stored, in milliseconds since 1970, as the server reports it. */
  readonly storedAt: number | undefined;
  /** Encryption at rest, in the provider's own terms. */
  readonly encryption: string | undefined;
}

/** Reads what a blob reveals without a key; see `Store.inspect`. */
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
    verifiedByServer: info?.sha256 === undefined ? undefined : info.sha256 === address,
    storedAt: info?.storedAt,
    encryption: info?.encryption,
  };
}

/** Credentials that may read blobs need not be allowed to HEAD them. */
function unlessPermission(error: unknown): undefined {
  if (error instanceof StorageError && error.code === "permission") return;
  throw error;
}
