import { readRoot } from "../read/read-root.ts";
import type { Progress, ReadOptions, WriteOptions } from "../options.ts";
import { type PutReport, createPutCounters } from "../write/put-report.ts";
import { assertOptions, checkPutOptions } from "../check-options.ts";
import type { Address } from "../../crypto/address.ts";
import type { PutJournal } from "../write/journal.ts";
import type { Reference } from "../../format/tree.ts";
import type { StoreContext } from "../context.ts";
import { allLeaves } from "./walk.ts";
import { assertAtMost } from "../read/stored-content.ts";
import { byteReader } from "../../content/byte-reader.ts";
import { linkedAbort } from "../../abort.ts";
import { metadataEntries } from "../../format/metadata.ts";
import { readLeaves } from "../read/read-leaves.ts";
import { storeContent } from "../write/put.ts";
import { type StorageError, usage } from "../../errors.ts";
import { writeRoot } from "../write/write-root.ts";

/** Options of `reseal`. */
export interface ResealOptions
  extends ReadOptions, Pick<WriteOptions, "dedupSecret" | "concurrency"> {
  /**
   * Resumes an earlier reseal of the same address, as for a put. It has to be a journal of its own:
   * the one of the put has the old keys.
   */
  readonly journal?: PutJournal | undefined;
  /**
   * Fails with `usage`, before anything is written, if the content is longer than this as stored; by
   * default there is no limit. Anyone who knows a recipient can write a few blobs that refer to each
   * other and read as petabytes: a reseal would write all of them.
   */
  readonly maxBytes?: number | undefined;
  /** Called after each chunk, with `bytes` and `total` as stored, before decompression. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called once, after everything is stored. */
  readonly onReport?: ((report: PutReport) => void) | undefined;
}

/** Writes content again under new keys; see `Store.reseal`. */
export async function reseal(
  context: StoreContext,
  text: string,
  recipients: readonly string[],
  options: ResealOptions,
): Promise<Address> {
  assertOptions(options);
  const { dedupSecret, concurrency, maxBytes, onReport } = options;
  const checked = checkPutOptions(context.defaults, { recipients, dedupSecret, concurrency });
  const root = await readRoot(context, text, options);
  if (maxBytes !== undefined) assertAtMost(maxBytes, root.contentLength + root.padding);
  const { depth, chunkSize } = root.shape;
  const settings = depth === 0 ? checked : { ...checked, chunkLog2: Math.log2(chunkSize) };
  const { signal, stop } = linkedAbort(options.signal);
  const counters = createPutCounters();

  /** The addresses of leaves that were read and not sealed again yet, by index. */
  const former = new Map<number, string>();
  async function* leaves(): AsyncGenerator<Uint8Array> {
    const range = allLeaves(root.shape);
    for await (const leaf of readLeaves(context, root, range, { ...settings, signal })) {
      if (leaf.content.length > 0) former.set(leaf.index, leaf.address);
      yield leaf.content;
      leaf.release();
    }
  }
  // Equal plaintext under an equal key gives an equal address. A key that stays would leave the chunk
  // open to everyone who had it.
  const checkLeaf = (index: number, { address }: Reference): void => {
    if (former.get(index) === address) throw sameKeys(settings.dedupSecret);
    former.delete(index);
  };

  const source =
    depth === 0
      ? byteReader(root.body)
      : { ...byteReader(leaves(), signal), total: root.contentLength };
  try {
    const { journal, onProgress } = options;
    const given = { journal, onProgress, signal };
    const { padding } = root;
    const call = { context, settings, options: given, counters, padding, checkLeaf };
    const body = await storeContent(call, source);
    const fields = { ...body, metadata: metadataEntries(root.metadata) };
    const address = await writeRoot(context, settings, fields, { signal, counters });
    // Inline content under the same secret, for the same recipients.
    if (address === root.address) throw sameKeys(settings.dedupSecret);
    onReport?.(counters.report());
    return address;
  } finally {
    source.cancel();
    stop();
  }
}

function sameKeys(dedupSecret: Uint8Array | undefined): StorageError {
  return usage(
    dedupSecret
      ? "resealing under the dedup secret that the content was written with would keep its keys: " +
          "pass another dedupSecret, or use a store without one"
      : "this journal has the old keys of the content: reseal with a journal of its own",
  );
}
