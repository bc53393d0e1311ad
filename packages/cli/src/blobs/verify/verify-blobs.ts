import type { Progress, Store, VerifyOptions } from "@idk/storage";
import { codeOf, usage } from "../../errors/failures.ts";
import type { ItemFailures } from "../../errors/item-failures.ts";
import type { Meter } from "../../progress/meter.ts";
import type { Session } from "../../session.ts";
import { isRemoved } from "../address.ts";
import type { Listed, Target } from "../address-list.ts";
import { type Refusals, runAddresses } from "../run-many.ts";
import type { Checked, Depth, Tally } from "./verify-tally.ts";

/** Blobs checked concurrently. The library downloads as many of them at once as its memory holds. */
const AT_ONCE = 64;

export interface VerifyRun {
  readonly depth: Depth;
  /** Whether the addresses are on the command line. */
  readonly named: boolean;
  /** Whether there is only one. */
  readonly single?: boolean;
  /** Ends the run if the store fails many blobs in a row. */
  readonly refusals?: Refusals | undefined;
  readonly failures: ItemFailures;
  readonly tally: Tally;
  readonly meter: Meter;
}

/** Checks blobs, and prints each in the order of completion, without keeping results. */
export async function verifyBlobs(
  place: Store,
  targets: AsyncIterable<Listed> | Iterable<Listed>,
  { depth, named, single = false, refusals, failures, tally, meter }: VerifyRun,
  session: Session,
): Promise<void> {
  const { out } = session;
  const check = CHECKS[depth];
  const checkOne = async ({ address, size }: Target, signal: AbortSignal): Promise<void> => {
    const update = meter.part();
    const onProgress = (content: Progress): void => {
      update(content);
      if (single) meter.setTotals({ totalBytes: content.total });
    };
    try {
      const result = await check(place, address, { named, size, signal, onProgress });
      tally.add(result);
      if (!result.deep) update(result);
      const { verifiedByServer, deep, ...rest } = result;
      await out.report({ ok: true, ...rest, attested: verifiedByServer, deep });
    } catch (error) {
      if (named || !(await isRemoved(place, address, error, signal))) throw error;
      tally.addRemoved();
      await out.report({ ok: true, address, removed: true });
    }
  };
  const options = {
    concurrency: AT_ONCE,
    failures,
    onDone: () => meter.itemDone(),
    refusals,
  };
  await runAddresses(targets, checkOne, options, session);
}

interface CheckOptions {
  /** Bytes of the blob, if a listing reported them. */
  readonly size: number | undefined;
  /** Whether the address is on the command line. */
  readonly named: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: NonNullable<VerifyOptions["onProgress"]>;
}

type Check = (opened: Store, address: string, options: CheckOptions) => Promise<Checked>;

const CHECKS: Readonly<Record<Depth, Check>> = {
  checksum: async (opened, address, { size, signal }) => ({
    ...(await opened.verify(address, { serverChecksums: true, size, signal })),
    deep: false,
  }),
  blob: checkBlob,
  deep: checkDeep,
};

async function checkBlob(
  opened: Store,
  address: string,
  { size, signal }: CheckOptions,
): Promise<Checked> {
  return { ...(await opened.verify(address, { size, signal })), deep: false };
}

/** When checking the whole store, other recipients' roots are checked without decrypting. */
async function checkDeep(opened: Store, address: string, options: CheckOptions): Promise<Checked> {
  const { named, signal, onProgress } = options;
  const blob = await checkBlob(opened, address, options);
  if (blob.kind === "child") {
    if (named) throw usage("this is a chunk; --deep takes addresses that `idk put` printed");
    return blob;
  }
  try {
    const tree = await opened.verify(address, { deep: true, signal, onProgress });
    return { ...tree, deep: true };
  } catch (error) {
    if (!named && codeOf(error) === "no-match") return blob;
    throw error;
  }
}
