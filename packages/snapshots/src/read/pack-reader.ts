import type { MetadataPack } from "../format/packs/metadata-pack.ts";
import { PACK_BLOB_MAX, type PackSort, openPack, packKey } from "../format/packs/pack.ts";
import { CHILD_OVERHEAD, fetchBlob } from "@idk/storage/blobs";
import { METADATA_PACK } from "../format/limits.ts";
import type { RecordReader } from "../repository/records.ts";
import { type Row, rowKey } from "../format/packs/row.ts";
import type { SessionSecretsOf } from "./session-secrets.ts";
import { type Backend, StorageError } from "@idk/storage";
import { byteCache } from "./byte-cache.ts";
import { decodeMetadataPack } from "../format/packs/metadata-pack.ts";

/** Reads packs: each request is one pack. */
export interface PackReader {
  /** A metadata pack, from memory if it was read lately. */
  metadata(row: Row, signal?: AbortSignal): Promise<MetadataPack>;
  /** The plaintext of a data pack, at most 4 MiB, which is not kept. */
  data(row: Row, options?: DataOptions): Promise<Uint8Array>;
  /**
   * A data pack as it is stored, and the content key that opens it, to open it elsewhere. Its
   * address is checked.
   */
  sealedData(row: Row, options?: DataOptions): Promise<SealedPack>;
}

/** Options of reading a data pack. */
export interface DataOptions {
  readonly signal?: AbortSignal | undefined;
  /** Of `PACK_BLOB_MAX` bytes, which then holds the pack; by default a new one. */
  readonly buffer?: Uint8Array<ArrayBuffer> | undefined;
  /** What to fetch it from; by default the repository's. */
  readonly from?: Backend | undefined;
}

/** A pack to open with `openChild`. */
export interface SealedPack {
  /** At the beginning of its buffer. */
  readonly blob: Uint8Array<ArrayBuffer>;
  /** Secret. */
  readonly contentKey: Uint8Array;
}

/** Metadata packs kept as they are stored, each at most a MiB. */
const PLAINTEXT_BUDGET = 48 * 2 ** 20;
/** Metadata packs kept decoded, each at most 4 MiB and its plaintext. */
const DECODED_BUDGET = 16 * 2 ** 20;

/** A reader of packs, with a bounded memory. */
export function packReader(
  { backend, naCl }: Pick<RecordReader, "backend" | "naCl">,
  secrets: SessionSecretsOf,
): PackReader {
  const plaintexts = byteCache<Uint8Array>(PLAINTEXT_BUDGET);
  const decoded = byteCache<MetadataPack>(DECODED_BUDGET);

  async function open(
    sort: PackSort,
    row: Row,
    {
      signal,
      // A metadata pack that is longer than any is fetched only as far as it may be.
      buffer = new Uint8Array(sort === "data" ? PACK_BLOB_MAX : METADATA_PACK + CHILD_OVERHEAD),
      from = backend,
    }: DataOptions,
  ): Promise<Uint8Array> {
    const secret = await secrets.secretOf(row.session, signal);
    try {
      const blob = await fetchBlob(from, row.address, buffer, { signal });
      return openPack(naCl, secret, sort, row, blob);
    } catch (error) {
      throw about(error, sort, row);
    }
  }

  return {
    async metadata(row, signal) {
      const key = rowKey(row);
      const known = decoded.get(key);
      if (known !== undefined) return known;
      let plaintext = plaintexts.get(key);
      if (plaintext === undefined) {
        const whole = await open("meta", row, { signal });
        // Without the rest of the buffer.
        plaintext = new Uint8Array(whole);
        plaintexts.set(key, plaintext, plaintext.length);
      }
      const pack = decodeMetadataPack(plaintext);
      decoded.set(key, pack, plaintext.length + pack.frame.length);
      return pack;
    },
    data: (row, options = {}) => open("data", row, options),
    async sealedData(row, { signal, buffer = new Uint8Array(PACK_BLOB_MAX), from = backend } = {}) {
      const secret = await secrets.secretOf(row.session, signal);
      const blob = await fetchBlob(from, row.address, buffer, { signal });
      return { blob, contentKey: packKey(secret, "data", row.salt) };
    },
  };
}

function about(error: unknown, sort: PackSort, { address }: Row): unknown {
  if (!(error instanceof StorageError) || error.code !== "limit" || sort === "data") return error;
  return new StorageError("tree", `the metadata pack ${address} is longer than any`, {
    cause: error,
  });
}
