import { createStore, StorageError } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import type { Faults } from "../queue/faults.ts";
import { deleteRunState, readRunState, type RunState } from "./run-state.ts";
import { deleteFile, listSpool, readWhole, type SpooledBlob } from "./files.ts";

/** Looks after what processes that have ended left in the spool. */
export interface Orphans {
  /**
   * Lists the spool, and takes over the runs whose state has not changed for `orphanMs`, by this
   * process's monotonic clock: clocks that jump must not make a run look dead. If its process was
   * only suspended, both upload the same blobs under the same names, which does no harm. Does
   * nothing while an earlier call goes on.
   */
  look(): Promise<void>;
}

/** What to do with what was found. */
export interface OrphanOptions {
  readonly folder: string;
  readonly run: string;
  readonly orphanMs: number;
  readonly faults: Faults;
  /** Told of the bytes of blobs of all other runs. */
  readonly onOtherBytes: (bytes: number) => void;
  /** Uploads the blobs of a run that has ended. */
  readonly adopt: (blobs: readonly SpooledBlob[], uploaded: () => void) => void;
  /**
   * Seals the last segment of a run that ended without being closed.
   *
   * @returns whether it is in the spool
   */
  readonly sealLost: (run: string, state: RunState) => Promise<boolean>;
}

export function createOrphans(options: OrphanOptions): Orphans {
  const { folder, run: ownRun, orphanMs, faults } = options;
  /** The beat of each other run, and since when it has not changed. */
  const lastBeats = new Map<
    string,
    { readonly beat: number | undefined; readonly since: number }
  >();
  /** Runs whose blobs are being uploaded here. */
  const adopted = new Set<string>();

  const isDead = (run: string, beat: number | undefined): boolean => {
    const now = performance.now();
    const last = lastBeats.get(run);
    if (last === undefined || last.beat !== beat) lastBeats.set(run, { beat, since: now });
    else return now - last.since >= orphanMs;
    return false;
  };

  const lookOnce = async (): Promise<void> => {
    const { blobs, openRuns, partials } = await listSpool(folder);
    const others = blobs.filter(({ run }) => run !== ownRun);
    options.onOtherBytes(others.reduce((total, { size }) => total + size, 0));
    const runs = new Set([...[...others, ...partials].map(({ run }) => run), ...openRuns]);
    for (const run of runs) {
      if (run === ownRun || adopted.has(run)) continue;
      const state = await readRunState(folder, run);
      if (!isDead(run, state?.beat)) continue;
      for (const { file } of partials.filter((partial) => partial.run === run)) {
        await deleteFile(folder, file);
      }
      const left = others.filter((blob) => blob.run === run);
      if (openRuns.has(run)) {
        const end = state && (await afterBlobs(folder, state, left));
        if (end !== undefined && !(await options.sealLost(run, end))) continue;
        await deleteRunState(folder, run);
      }
      if (left.length === 0) continue;
      adopted.add(run);
      let waiting = left.length;
      options.adopt(left, () => {
        waiting -= 1;
        if (waiting === 0) adopted.delete(run);
      });
    }
    // Runs that left nothing are forgotten.
    for (const run of lastBeats.keys()) {
      if (!runs.has(run)) lastBeats.delete(run);
    }
  };

  let isLooking = false;
  return {
    async look() {
      // With a slow spool, it would find a run again that is being sealed, and seal it twice.
      if (isLooking) return;
      isLooking = true;
      try {
        await lookOnce();
      } catch (cause) {
        faults.report(`cannot read the spool ${folder}`, cause);
      } finally {
        isLooking = false;
      }
    },
  };
}

/**
 * A process may have ended between storing a segment and writing its state, or between the chunks of a long
 * one and its root: then there is no such segment.
 */
async function afterBlobs(
  folder: string,
  state: RunState,
  blobs: readonly SpooledBlob[],
): Promise<RunState> {
  for (const last of blobs.toReversed()) {
    if (last.segment < state.seq) break;
    if (await isRoot(folder, last)) return { ...state, seq: last.segment + 1, prev: last.address };
  }
  return state;
}

async function isRoot(folder: string, { file, address }: SpooledBlob): Promise<boolean> {
  const bytes = await readWhole(folder, file);
  if (bytes === undefined) return false;
  const backend = memory();
  await backend.put(address, bytes);
  try {
    return (await createStore({ backend }).inspect(address)).kind === "root";
  } catch (error) {
    // Damaged by a power failure.
    if (error instanceof StorageError) return false;
    throw error;
  }
}
