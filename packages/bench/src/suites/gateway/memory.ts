/** Resident memory of a gateway with many uploads and downloads at once. */
import { sizeName } from "../../harness/content.ts";
import { allEnded } from "../../harness/interleave.ts";
import { peakRssOf } from "../../harness/memory.ts";
import type { Findings } from "../../harness/results.ts";
import { exactTarget } from "../../harness/targets.ts";
import type { Scratch } from "../../object-store/scratch.ts";
import type { SuiteContext } from "../../suite.ts";
import { BELOW, type Program, serve } from "./serving.ts";
import { download, upload } from "./streams.ts";

const MOST = 384 * 2 ** 20;
const EACH_WAY = 64;
/** Objects that are downloaded, each of them by several clients. */
const SOURCES = 4;

/** @param size bytes of each stream */
export async function memory(
  { at }: Scratch,
  program: Program,
  size: number,
  { quick, seed, signal, log }: SuiteContext,
): Promise<Findings> {
  at(`memory/${BELOW}`);
  const many = quick ? 4 : EACH_WAY;
  await using gateway = await serve({ ...program, store: at("memory"), signal });
  let busy = 0;
  const { access, pid } = gateway;
  const stop = new AbortController();
  const streams = {
    access,
    size,
    seed,
    signal: AbortSignal.any([signal, stop.signal]),
    onBusy: () => void busy++,
  };
  /** If the transfer fails, the others end before the gateway does. */
  const endingOthers = async (transfer: Promise<void>): Promise<void> =>
    transfer.catch((error: unknown) => {
      stop.abort(error);
      // The error that came first, or why the run ends; the others fail because of it.
      throw streams.signal.reason;
    });
  for (let source = 0; source < SOURCES; source++) await upload(streams, source);
  const start = performance.now();
  await allEnded(
    Array.from({ length: many }, (_, i) => [
      endingOthers(upload(streams, SOURCES + i)),
      endingOthers(download(streams, i % SOURCES)),
    ]).flat(),
  );
  const seconds = (performance.now() - start) / 1000;
  const peak = peakRssOf(pid);
  // That what was stored is what was sent, for some.
  for (let i = 0; i < SOURCES; i++) await download(streams, SOURCES + many - 1 - i);
  const what = `${many} uploads and ${many} downloads of ${sizeName(size)} at once`;
  const note = `${what}: ${seconds.toFixed(1)} s, ${Math.round((2 * many * size) / seconds / 1e6)} MB/s; clients were told ${busy} times to slow down, and tried again.`;
  log(note);
  return {
    targets: [exactTarget(`${what}: peak memory of the gateway`, peak, "bytes", { most: MOST })],
    notes: [note],
  };
}
