import { S3Error } from "../../errors.ts";

/** Memory that a call may use until it releases it. */
export interface Share {
  readonly bytes: number;
  /**
   * True once others wait and this share has been held for long. Its holder releases it at the next
   * good moment, and acquires another one to continue.
   */
  isOver(): boolean;
  /**
   * True while calls wait that have had no share yet. The holder may release this one where that costs
   * little, and acquires another one to continue.
   */
  isWanted(): boolean;
  /**
   * Called, once, if the client stalls while others wait: the share is over now, and is released at once.
   * Without a callback, the share does not become over.
   */
  onStall(callback: (() => void) | undefined): void;
  /** The holder waits for its client from now on. */
  idle(): void;
  /** The client has done something. */
  busy(): void;
  /**
   * Counts what the call turned out to need. More than it asked for is counted as well, and only delays
   * others. What the share was held for so far was not the client's doing: it is not over, and its time
   * begins anew.
   */
  resize(bytes: number): void;
  /** Gives the memory back; further calls do nothing. */
  release(): void;
}

/** How much memory a call needs. */
export interface Need {
  /** Bytes that are enough. */
  readonly least: number;
  /** Bytes that make it faster; granted if they are free and nobody waits. */
  readonly most: number;
}

/** How a call waits for memory. */
export interface Waiting {
  /** Ends the wait with its reason. It does not concern the share. */
  readonly signal?: AbortSignal | undefined;
  /** After so many ms the wait ends with `SlowDown`; by default never. */
  readonly limitMs?: number | undefined;
  /** Whether the call has had a share before, and goes on. By default false. */
  readonly isAgain?: boolean | undefined;
  /**
   * Whose call it is. All shares of one owner are at most half of the budget, unless it has only one, so
   * an owner that holds on to its memory stops only itself. Its calls are in order. By default nobody's,
   * without that limit.
   */
  readonly owner?: string | undefined;
}

/**
 * One budget of memory, given out in the order of requests. Shares are for data at hand: a holder whose
 * client stalls loses its share while others wait, and those that have had none go before it, so slow clients
 * do not stop the rest.
 */
export interface Budget {
  /**
   * Waits until there is room. A need for more than the whole budget is granted when nothing else is in
   * use.
   *
   * @throws the signal's reason; S3Error `SlowDown`
   */
  acquire(need: Need, waiting?: Waiting): Promise<Share>;
  readonly bytes: number;
  used(): number;
  /** How many shares are in use. */
  shares(): number;
  waiting(): number;
  /** How many shares were taken back early. */
  preemptions(): number;
}

/** Times of a budget, in ms. */
export interface BudgetTimes {
  /** How long a share is kept while others wait. */
  readonly slice: number;
  /** How long a client may stall while others wait. */
  readonly stall: number;
}

const TIMES: BudgetTimes = { slice: 2000, stall: 500 };
/** How often stalled and long-held shares are looked for, while someone waits, in ms. */
const LOOK_INTERVAL = 100;
/** Of so many shares one is for a call that has had one before, while there are others. */
const AGAIN_EVERY = 4;

interface Holder {
  bytes: number;
  readonly owner: string | undefined;
  since: number;
  idleSince: number | undefined;
  over: boolean;
  hasStalled: boolean;
  stall: (() => void) | undefined;
}

interface Waiter {
  readonly least: number;
  readonly isAgain: boolean;
  readonly owner: string | undefined;
  grant(share: Share): void;
}

/** Creates a budget of so many bytes. */
export function createBudget(bytes: number, times: BudgetTimes = TIMES): Budget {
  const holders = new Set<Holder>();
  const waiters = new Set<Waiter>();
  const usedByOwner = new Map<string, number>();
  let used = 0;
  let preemptions = 0;
  let granted = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  const fits = (size: number): boolean => used === 0 || used + size <= bytes;

  /** Whether an owner's other shares leave it so much. */
  const mayHave = (owner: string | undefined, size: number): boolean => {
    const own = owner === undefined ? undefined : usedByOwner.get(owner);
    return own === undefined || own + size <= bytes / 2;
  };

  /** @param difference bytes; negative for less */
  const count = (owner: string | undefined, difference: number): void => {
    used += difference;
    if (owner === undefined) return;
    const own = (usedByOwner.get(owner) ?? 0) + difference;
    if (own === 0) usedByOwner.delete(owner);
    else usedByOwner.set(owner, own);
  };

  const take = (size: number, owner: string | undefined): Share => {
    const now = performance.now();
    const holder: Holder = {
      bytes: size,
      owner,
      since: now,
      idleSince: undefined,
      over: false,
      hasStalled: false,
      stall: undefined,
    };
    holders.add(holder);
    count(owner, size);
    return {
      bytes: size,
      isOver: () => holder.over,
      isWanted() {
        for (const { isAgain } of waiters) if (!isAgain) return true;
        return false;
      },
      onStall(callback) {
        if (holder.hasStalled) callback?.();
        else holder.stall = callback;
      },
      idle() {
        holder.idleSince = performance.now();
      },
      busy() {
        holder.idleSince = undefined;
      },
      resize(needed) {
        if (!holders.has(holder)) return;
        count(owner, needed - holder.bytes);
        holder.bytes = needed;
        holder.since = performance.now();
        holder.over = false;
        grantWaiting();
      },
      release() {
        if (!holders.delete(holder)) return;
        count(owner, -holder.bytes);
        grantWaiting();
      },
    };
  };

  /**
   * Tells, of each waiter in turn, whether it waits only for its own owner, which has its half, or has a
   * call that came before and waits for that.
   */
  const waitingForItself = (): ((waiter: Waiter) => boolean) => {
    const owners = new Set<string>();
    return ({ owner, least }) => {
      if (owner === undefined || (!owners.has(owner) && mayHave(owner, least))) return false;
      owners.add(owner);
      return true;
    };
  };

  /**
   * The one that is next. Those that wait for their first share, and those that go on, are in order. Those
   * that wait only for their own owner are passed over.
   */
  const nextWaiter = (): Waiter | undefined => {
    const isAgain = granted % AGAIN_EVERY === AGAIN_EVERY - 1;
    const waitsForItself = waitingForItself();
    let first: Waiter | undefined;
    for (const waiter of waiters) {
      if (waitsForItself(waiter)) continue;
      if (waiter.isAgain === isAgain) return waiter;
      first ??= waiter;
    }
    return first;
  };

  const grantWaiting = (): void => {
    for (;;) {
      const waiter = nextWaiter();
      if (waiter === undefined || !fits(waiter.least)) break;
      waiters.delete(waiter);
      granted += 1;
      waiter.grant(take(waiter.least, waiter.owner));
    }
    if (waiters.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };

  /** Takes shares back, from their own owner for those that wait only for it. */
  const preempt = (): void => {
    const needs = new Map<string | undefined, number>();
    const waitsForItself = waitingForItself();
    for (const waiter of waiters) {
      const from = waitsForItself(waiter) ? waiter.owner : undefined;
      needs.set(from, (needs.get(from) ?? 0) + waiter.least);
    }
    for (const [from, needed] of needs) {
      const all = [...holders];
      takeBack(needed, from === undefined ? all : all.filter(({ owner }) => owner === from));
    }
  };

  /**
   * Takes shares back from those that stall first, then from those that have had theirs longest.
   *
   * @param from in the order in which they were given out
   */
  const takeBack = (bytesNeeded: number, from: readonly Holder[]): void => {
    const now = performance.now();
    const stalls = (holder: Holder) =>
      holder.idleSince !== undefined && now - holder.idleSince >= times.stall;
    let needed = bytesNeeded;
    // Without a callback, nobody would give it back: what is being made of it does not ask.
    const asked = from.filter((holder) => holder.stall !== undefined);
    for (const holder of asked) if (holder.over && !stalls(holder)) needed -= holder.bytes;
    const all = asked.filter((holder) => !holder.hasStalled);
    for (const holder of all) {
      if (needed <= 0) return;
      if (!stalls(holder)) continue;
      needed -= holder.bytes;
      if (!holder.over) preemptions += 1;
      holder.over = holder.hasStalled = true;
      holder.stall?.();
    }
    for (const holder of all) {
      if (needed <= 0) return;
      if (holder.over || now - holder.since < times.slice) continue;
      needed -= holder.bytes;
      preemptions += 1;
      holder.over = true;
    }
  };

  return {
    bytes,
    used: () => used,
    shares: () => holders.size,
    waiting: () => waiters.size,
    preemptions: () => preemptions,
    acquire({ least, most }, { signal, limitMs, isAgain = false, owner } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason as Error);
      if (waiters.size === 0) {
        if (used + most <= bytes && mayHave(owner, most)) return Promise.resolve(take(most, owner));
        if (fits(least) && mayHave(owner, least)) return Promise.resolve(take(least, owner));
      }
      return new Promise((resolve, reject) => {
        const stop = (reason: unknown): void => {
          end();
          waiters.delete(waiter);
          reject(reason);
          grantWaiting();
        };
        const abort = (): void => stop(signal!.reason);
        const tooLong = (): void =>
          stop(new S3Error("SlowDown", undefined, { closesConnection: true }));
        const limit = limitMs === undefined ? undefined : setTimeout(tooLong, limitMs);
        const end = (): void => {
          clearTimeout(limit);
          signal?.removeEventListener("abort", abort);
        };
        const waiter: Waiter = {
          least,
          isAgain,
          owner,
          grant(share) {
            end();
            resolve(share);
          },
        };
        waiters.add(waiter);
        signal?.addEventListener("abort", abort, { once: true });
        if (timer === undefined) {
          timer = setInterval(preempt, Math.min(LOOK_INTERVAL, times.stall));
          timer.unref();
        }
        // Those before it may wait only for their own owner.
        grantWaiting();
      });
    },
  };
}
