import {
  BEAT_INTERVAL,
  CLAIM_EXPIRY,
  type Catalog,
  type ClaimOptions,
} from "../../catalog/catalog.ts";
import type { Seq, StoredObject } from "../../catalog/records.ts";

/** A write that is running. */
export interface Write {
  readonly seq: Seq;
  /**
   * False once the catalog has not heard of it for so long that it may have been taken for dead, and its
   * first blobs deleted by a sweep. It never becomes true again. Asked before a commit, which checks it
   * once more.
   */
  isAlive(): boolean;
  /**
   * Takes a new number, after the root with the old one was deleted. It stays a write from when it began,
   * because its content is, and that of its upload.
   *
   * @param changes the version of its key that it is made of
   */
  renew(changes?: StoredObject): Promise<void>;
  /**
   * Whether its identity root may be in the store. If it ends so without having been committed, it stays
   * registered, because a sweep, or a rebuild, must know that it failed. A claim is given back nevertheless:
   * the client may try again at once, and an older write is still not committed behind it.
   */
  mayHaveRoot: boolean;
  /** The catalog has ended it together with its commit. */
  committed(): void;
  /** Ends it, committed or not. Does not reject. */
  end(): Promise<void>;
}

/** The writes of this process, all of them registered in the catalog, with signs of life. */
export interface Writes {
  begin(): Promise<Write>;
  /**
   * A write that the catalog has registered already.
   *
   * @param registration how it gets another number, if it can be renewed, and how it ends in the catalog, by
   *   default as one without a claim
   */
  adopt(seq: Seq, registration?: Registration): Write;
  /** Stops the signs of life. */
  close(): void;
}

/** What is special about a write. */
export interface Registration {
  renew(number: NonNullable<ClaimOptions["renews"]>, changes?: StoredObject): Promise<Seq>;
  release?: ((seq: Seq, options: { readonly mayHaveRoot: boolean }) => Promise<void>) | undefined;
}

interface Running {
  seq: Seq;
  started: number;
  /** When the catalog last heard of it. */
  heard: number;
  isDead: boolean;
}

/** A write that lasts longer, in ms, gives signs of life. */
const BEATS_AFTER = BEAT_INTERVAL;

/** @param now milliseconds since 1970 */
export function createWrites(
  catalog: Pick<Catalog, "beginWrite" | "beat" | "endWrites">,
  now: () => number,
  warn: (message: string, error?: unknown) => void,
): Writes {
  const running = new Set<Running>();
  let beating = false;

  /** Silence ends a write for good: what comes later may come after a sweep. */
  const isAlive = (write: Running): boolean => {
    if (now() - write.heard >= CLAIM_EXPIRY) write.isDead = true;
    return !write.isDead;
  };
  const beat = async (): Promise<void> => {
    const at = now();
    const lasting = [...running].filter(
      (write) => isAlive(write) && at - write.started >= BEATS_AFTER,
    );
    if (lasting.length === 0) return;
    const seqs = new Map(lasting.map((write) => [write, write.seq]));
    const alive = await catalog.beat([...seqs.values()], at);
    for (const [write, seq] of seqs) {
      // It may have taken a new number, or been committed, meanwhile.
      if (write.seq !== seq) continue;
      if (alive.has(seq)) write.heard = Math.max(write.heard, at);
      else write.isDead = true;
    }
  };
  const timer = setInterval(() => {
    if (beating) return;
    beating = true;
    beat()
      .catch((error: unknown) => warn("writes in progress give no signs of life", error))
      .finally(() => {
        beating = false;
      });
  }, BEAT_INTERVAL / 2);
  timer.unref();

  const adopt: Writes["adopt"] = (first, registration) => {
    const at = now();
    const state: Running = { seq: first, started: at, heard: at, isDead: false };
    running.add(state);
    let isCommitted = false;
    const endInCatalog = async (seq: Seq, mayHaveRoot = false): Promise<void> => {
      const ended =
        registration?.release?.(seq, { mayHaveRoot }) ??
        (mayHaveRoot ? undefined : catalog.endWrites([seq]));
      await ended?.catch((error: unknown) => warn(LEFT, error));
    };
    const write: Write = {
      get seq() {
        return state.seq;
      },
      isAlive: () => isAlive(state),
      async renew(changes) {
        const { seq, started } = state;
        if (registration === undefined) throw new Error("a write without a key is never renewed");
        // Before the old one ends: a beat that does not find that must not take the write for dead.
        state.seq = await registration.renew({ seq, started }, changes);
        await endInCatalog(seq);
      },
      mayHaveRoot: false,
      committed() {
        isCommitted = true;
      },
      async end() {
        running.delete(state);
        if (!isCommitted) await endInCatalog(state.seq, write.mayHaveRoot);
      },
    };
    return write;
  };

  return {
    async begin() {
      return adopt(await catalog.beginWrite(now()));
    },
    adopt,
    close() {
      clearInterval(timer);
    },
  };
}

const LEFT = "a write that failed stays registered until a sweep";
