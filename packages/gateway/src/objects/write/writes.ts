import { BEAT_INTERVAL, CLAIM_EXPIRY, type Catalog } from "../../catalog/catalog.ts";
import type { Seq } from "../../catalog/records.ts";

/** A write that is running. */
export interface Write {
  readonly seq: Seq;
  /**
   * Called before the commit: a write that the catalog has not heard of for so long may have been
   * taken for dead, and its first blobs deleted by a sweep.
   */
  isAlive(): boolean;
  /** Ends it. If it was not committed, the catalog is told when there is something to tell. */
  end(committed: boolean): void;
}

/** The writes of this process. Those that last are registered in the catalog, with signs of life. */
export interface Writes {
  begin(seq: Seq, isClaimed: boolean): Write;
  /** Stops the signs of life. */
  close(): void;
}

interface Running {
  readonly seq: Seq;
  readonly started: number;
  registered: boolean;
  /** When the catalog last heard of it, or it began. */
  heard: number;
}

/** A write that lasts longer, in ms, is registered; shorter ones are protected by a sweep's age limit. */
const REGISTERED_AFTER = BEAT_INTERVAL;

/** @param now milliseconds since 1970 */
export function createWrites(
  catalog: Pick<Catalog, "beginWrite" | "beat" | "endWrites">,
  now: () => number,
  warn: (message: string, error?: unknown) => void,
): Writes {
  const running = new Map<Seq, Running>();
  let beating = false;

  const beat = async (): Promise<void> => {
    const at = now();
    const lasting = [...running.values()].filter((write) => at - write.started >= REGISTERED_AFTER);
    for (const write of lasting) {
      if (write.registered) continue;
      await catalog.beginWrite(write.seq, write.started);
      write.registered = true;
    }
    if (lasting.length > 0)
      await catalog.beat(
        lasting.map(({ seq }) => seq),
        at,
      );
    for (const write of lasting) write.heard = at;
  };
  const timer = setInterval(() => {
    if (beating) return;
    beating = true;
    beat()
      .catch((error: unknown) => warn("writes in progress cannot be registered", error))
      .finally(() => {
        beating = false;
      });
  }, BEAT_INTERVAL / 2);
  timer.unref();

  return {
    begin(seq, isClaimed) {
      const started = now();
      const write: Running = { seq, started, registered: isClaimed, heard: started };
      running.set(seq, write);
      return {
        seq,
        isAlive: () => now() - write.heard < CLAIM_EXPIRY,
        end(committed) {
          running.delete(seq);
          // A commit ends it in the catalog, too.
          if (committed || !write.registered) return;
          catalog.endWrites([seq]).catch((error: unknown) => {
            warn("a write that failed stays registered until it expires", error);
          });
        },
      };
    },
    close() {
      clearInterval(timer);
    },
  };
}
