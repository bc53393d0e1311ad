import type { ObjectsContext } from "./context.ts";

/** Work that goes on beside requests. */
export interface Background {
  /** Asks for garbage to be collected within a second or so. */
  collectSoon(): void;
  /** Ends all work; stores a snapshot if the catalog has changed since the last one, and that takes no longer than 30 s. */
  close(): Promise<void>;
}

/** What the work consists of. */
export interface BackgroundWork {
  collect(signal: AbortSignal): Promise<unknown>;
  snapshot(signal: AbortSignal): Promise<unknown>;
  storePending(): Promise<unknown>;
}

const COLLECT_DELAY = 1000;
const LOOK_INTERVAL = 60_000;
const SNAPSHOT_INTERVAL = 24 * 60 * 60_000;
/** After how many looks a snapshot that failed is tried again; the last one then repeats. Each reads all rows. */
const SNAPSHOT_RETRIES = [1, 5, 30, 60] as const;
/** How long a snapshot at the end may take, in ms: service managers kill what does not stop. */
const LAST_SNAPSHOT_TIME = 30_000;

/** @param isOn false for commands and tests, which do each thing themselves */
export function createBackground(
  { catalog, now, warn }: ObjectsContext,
  isOn: boolean,
  work: BackgroundWork,
): Background {
  const controller = new AbortController();
  let collecting: Promise<unknown> | undefined;
  let soon: ReturnType<typeof setTimeout> | undefined;
  let looking: Promise<unknown> | undefined;

  const attempt = async (what: string, run: () => Promise<unknown>): Promise<void> => {
    if (controller.signal.aborted) return;
    try {
      await run();
    } catch (error) {
      if (!controller.signal.aborted) warn(`${what} failed`, error);
    }
  };
  const collect = (): Promise<unknown> => {
    collecting ??= attempt("collecting garbage", () => work.collect(controller.signal)).finally(
      () => {
        collecting = undefined;
      },
    );
    return collecting;
  };
  const isDue = async (): Promise<boolean> => {
    const { snapshot } = await catalog.lineage();
    return now() - (snapshot?.time ?? 0) >= SNAPSHOT_INTERVAL && (await hasChanged());
  };
  let asked = 0;
  /** Whether a number was taken since the snapshot took its own, but for those that were taken to ask. */
  const hasChanged = async (): Promise<boolean> => {
    const { snapshot } = await catalog.lineage();
    if (snapshot === undefined) return true;
    const seq = await catalog.nextSeq();
    if (seq > Math.max(snapshot.seq, asked) + 1) return true;
    asked = seq;
    return false;
  };
  let failures = 0;
  /** Looks until a snapshot is tried again. */
  let wait = 0;
  const storeSnapshot = async (): Promise<void> => {
    if (wait > 1) {
      wait -= 1;
      return;
    }
    if (!(await isDue())) return;
    wait = SNAPSHOT_RETRIES[Math.min(failures, SNAPSHOT_RETRIES.length - 1)]!;
    failures += 1;
    await work.snapshot(controller.signal);
    failures = wait = 0;
  };
  const look = (): void => {
    looking ??= (async () => {
      await attempt("storing deletions and buckets", work.storePending);
      await collect();
      await attempt("forgetting what is out of date", () => catalog.purge(now()));
      await attempt("storing a snapshot of the catalog", storeSnapshot);
    })().finally(() => {
      looking = undefined;
    });
  };
  const timer = isOn ? setInterval(look, LOOK_INTERVAL) : undefined;
  timer?.unref();
  if (isOn) look();

  return {
    collectSoon() {
      if (!isOn || soon !== undefined || controller.signal.aborted) return;
      soon = setTimeout(() => {
        soon = undefined;
        void collect();
      }, COLLECT_DELAY);
      soon.unref();
    },
    async close() {
      clearInterval(timer);
      clearTimeout(soon);
      controller.abort();
      await looking;
      await collecting;
      if (!isOn) return;
      try {
        // Not the signal of the rest, which has ended.
        if (await hasChanged()) await work.snapshot(AbortSignal.timeout(LAST_SNAPSHOT_TIME));
      } catch (error) {
        warn("storing a snapshot of the catalog at the end failed", error);
      }
    },
  };
}
