import { type Address, parseAddress } from "../../content/address.ts";
import { throwIfAborted } from "../../abort.ts";
import { CHILD_BLOB_MAX, TAG_LENGTH } from "../../format/limits.ts";
import { StorageError } from "../../errors.ts";
import type { CallOptions } from "../options.ts";
import type { StoreContext } from "../context.ts";
import { allocate } from "../buffers.ts";
import { assertEphemeral } from "../../crypto/wrap.ts";
import { fetchBlob } from "../read/fetch.ts";
import { inspectBlob, splitEnvelope } from "../../format/envelope.ts";

/** What a blob shows without a key. */
export interface BlobInspection {
  readonly address: Address;
  /** Whether it has recipients, or is a chunk or node of some tree, whose own header is the same. */
  readonly kind: "root" | "child";
  /** Of the format. */
  readonly version: number;
  /** Bytes of the blob: those in front of what is sealed, its tag of 16, and what is sealed. */
  readonly storedBytes: number;
  /** The format's mark, the version and the header. */
  readonly prefixBytes: number;
  /** Bytes sealed: content or references, metadata of a root, and what hides their length. */
  readonly sealedBytes: number;
  /** To the key it was sealed with: 32 bytes that tell nothing of it. */
  readonly commitment: Uint8Array;
  /** Of a root: the public half of a key made for it alone, 32 bytes. */
  readonly ephemeral?: Uint8Array | undefined;
  /** Of a root: how many keys open it, 1 to 1024. Whose they are does not show. */
  readonly recipients?: number | undefined;
  /**
   * Whether the store attests that it received bytes with this address; undefined where it keeps no
   * SHA-256, or that is not known of it yet.
   */
  readonly attested: boolean | undefined;
  /** When it was stored, in milliseconds since 1970, by the store's word. */
  readonly storedAt: number | undefined;
  /** How the store encrypts it at rest, in the provider's words. */
  readonly encryption: string | undefined;
}

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
