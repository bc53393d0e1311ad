import type { Faults } from "../queue/faults.ts";
import { decodeTotals, type RunTotals } from "../segments/metadata.ts";
import { deleteFile, readWhole, totalsFile, writeWhole } from "./files.ts";

/**
 * What a run leaves in the spool, and writes again every second: by it others see that the run goes
 * on, and what it has counted if it does not. It names no exchange.
 */
export interface RunState {
  /** Grows with each writing. */
  readonly beat: number;
  /** The next segment of the run, and the address of the one before. */
  readonly seq: number;
  readonly prev: string | undefined;
  readonly totals: RunTotals;
}

/** Writes the state of this run as long as it goes on. */
export interface StateWriter {
  /** Writes the state if it has changed. */
  write(): Promise<void>;
  /** Ends the writing. @param closed whether the last segment is in the spool: nothing is left then */
  stop(closed: boolean): Promise<void>;
}

/** How often a state that changes is written. */
const CHANGED_MS = 1000;

/** @param orphanMs milliseconds after which others take over a run whose state does not change */
export function startStateWriter(
  folder: string,
  run: string,
  orphanMs: number,
  faults: Faults,
  current: () => Omit<RunState, "beat">,
): StateWriter {
  const idleMs = orphanMs / 3;
  let beat = 0;
  let written = "";
  let writtenAt = 0;
  let writing: Promise<void> = Promise.resolve();

  const write = async (text: string): Promise<void> => {
    try {
      await writeWhole(folder, totalsFile(run), Buffer.from(`{"beat":${beat},${text.slice(1)}`));
    } catch (cause) {
      faults.report(`cannot write the spool ${folder}`, cause);
    }
  };
  const writeIfDue = async (): Promise<void> => {
    const { prev, seq, totals } = current();
    // A run that has seen nothing leaves nothing.
    if (totals.seen === 0) return;
    const text = JSON.stringify({ seq, prev, totals: JSON.stringify(totals) });
    const now = performance.now();
    if (text === written && now - writtenAt < idleMs) return;
    [written, writtenAt] = [text, now];
    beat += 1;
    writing = writing.then(() => write(text));
    await writing;
  };
  const timer = setInterval(() => void writeIfDue(), Math.min(CHANGED_MS, Math.ceil(idleMs)));
  timer.unref();

  return {
    write: writeIfDue,
    async stop(closed) {
      clearInterval(timer);
      await writing;
      if (closed) await deleteRunState(folder, run);
    },
  };
}

/** Undefined if there is none, or if it is damaged, for example by a power failure. */
export async function readRunState(folder: string, run: string): Promise<RunState | undefined> {
  const bytes = await readWhole(folder, totalsFile(run));
  if (bytes === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const found = parsed as Record<string, unknown>;
  const totals = decodeTotals(found["totals"]);
  const { beat, prev, seq } = found;
  if (totals === undefined || !Number.isSafeInteger(beat) || !Number.isSafeInteger(seq)) {
    return undefined;
  }
  if (prev !== undefined && typeof prev !== "string") return undefined;
  return { beat: beat as number, seq: seq as number, prev, totals };
}

export async function deleteRunState(folder: string, run: string): Promise<void> {
  await deleteFile(folder, totalsFile(run));
}
