/**
 * Decides how many calls are in flight, from how fast they complete. It makes no calls and has no
 * clock of its own.
 *
 * The number needed is that of TCP: bytes in flight = rate × round trip. A store does not tell its
 * round trip, so it is found as TCP finds it. More are let in, and they stay if the rate grows:
 *
 * - **The base** is how many there are without a reason for more. It is given, and if the first round's
 *   calls show that they would carry less than a process can seal or open, up to twice that: a store 50 ms
 *   away then has eight chunks in flight and not four, while one nearby keeps four.
 * - **Small calls** take hardly any memory. If the first ones succeed, sixteen follow at once; then their
 *   number doubles each round, unless their rate falls below half of what it was with fewer.
 * - **Slow start** doubles the number each round, until a doubling brings less than a quarter more,
 *   which is how BBR finds that the line is full (Cardwell et al., "BBR: Congestion-Based Congestion
 *   Control", ACM Queue 14(5), 2016). The number before that doubling is the knee. Beyond it, the
 *   number may grow with the cube of the rate: 2^(1/3) is 1.26.
 * - It grows only while calls wait for the round trip: while the rate is near that of as many calls
 *   that all were as short as the shortest. Otherwise they wait for each other, at the processor or on
 *   the line, and more would only take memory, unless they are small. The shortest call stands for a
 *   round trip without a queue, as in TCP Vegas (Brakmo and Peterson, 1995).
 * - After that it grows by one each round while the rate keeps up, and falls back if it does not:
 *   additive increase and multiplicative decrease (Chiu and Jain, 1989), by the gradient of what is
 *   measured, as in Netflix's concurrency-limits. If the processor or the line is the limit, it stays
 *   at the base, because more would only take memory.
 * - A retry brings it back to where it began for a while, and to two if nothing succeeds. While more than
 *   a tenth of the attempts fail, it is halved, down to four: the store refuses so many, and each one that
 *   it refuses is tried again. Once nothing fails any more, it grows by one each few rounds.
 *
 * A round is as many completions as may be in flight, counted from the first completion of a call
 * that was started in the round. It counts only if calls were what the pipeline waited for.
 */
export interface Controller {
  /** How many calls may be in flight: 2 to `CALLS_MAX`. */
  limit(): number;
  /** How many are in flight. */
  running(): number;
  /** The most bytes that a call has transferred; `Infinity` before any has. */
  largest(): number;
  /** A call starts at `now`, in milliseconds. */
  start(now: number): ControlledCall;
  /** An attempt failed, and there will be another one. */
  retry(): void;
}

/** A call in flight. */
export interface ControlledCall {
  /** @param bytes transferred; undefined if the call failed or was aborted */
  end(now: number, bytes: number | undefined): void;
}

export const CALLS_MAX = 64;

/** Small enough for a store that fails, and enough to read while writing. */
export const CALLS_MIN = 2;

/** As long as some succeed, a store that refuses gets so many, if it began with as many. */
const CALLS_REFUSED = 4;

/** Completions without a retry after which one more is tried, for each that may be in flight. */
const ROUNDS_AFTER_REFUSED = 8;

/** A retry counts as much as so many completions. */
const RETRY_PRESSURE = 10;
const PRESSURE_MAX = 3 * RETRY_PRESSURE;

/** Small calls in flight once the first ones have succeeded. */
const SMALL_AT_ONCE = 16;

/** Small calls stay as many as they are unless their rate falls below this part of that with fewer. */
const KEEPS_UP = 0.5;

/** A call for nothing is worth so many bytes, so that small and large ones are measured alike. */
const CALL_BYTES = 64 * 1024;

/** Bytes per millisecond that a process can seal or open on two cores, hashing included: some 400 MiB/s. */
const PROCESS_RATE = 0.4 * 2 ** 20;

/**
 * Milliseconds. Round trips are shorter: calls that take longer wait for the line, and more of them
 * would take longer still.
 */
const ROUND_TRIP_MAX = 2000;

/**
 * The least rate, as a part of that without a queue, at which more calls are tried. Measured at 4 chunks
 * in flight, it is 0.3 to 0.6 with a store on the same machine, and 0.75 to 1 with one 50 ms away.
 */
const NO_QUEUE = 0.7;

/** Of the first few calls, even the shortest may have waited. */
const CALM_ROUNDS = 2;

/** Milliseconds: some browsers round their clock, and a call may then seem to have taken no time. */
const CLOCK = 0.1;

/** Makes the shortest call longer each round, so that what no longer holds is forgotten in time. */
const FORGET = 1.004;

/**
 * Calls of a round: fewer complete together by chance, and then seem to have waited for nothing.
 */
const ROUND_LEAST = 8;

/** Rounds to wait after growth that brought nothing; doubled each time. */
const WAIT_FIRST = 4;
const WAIT_MAX = 64;
/** Long, because each time a store fails, every call in flight is retried. */
const WAIT_AFTER_RETRY = 32;

/** A rate in bytes per millisecond, with so many calls in flight. */
interface Measured {
  readonly calls: number;
  readonly rate: number;
}

/** How many calls this rate justifies, given the rate of fewer. */
function earnedBy({ calls, rate: fewer }: Measured, rate: number): number {
  return calls * (rate / fewer) ** 3;
}

/** @param first the number in flight at first: 2 or more */
export function createController(first: number): Controller {
  let limit = first;
  /** What is kept while more bring nothing: `first` to twice that. */
  let base = first;
  let running = 0;
  /** When the last call ended, if none is running. */
  let idleSince = 0;
  /** Since the last time that none was running. */
  let isRoundFinished = false;
  let doubling = true;
  let wait = 0;
  let nextWait = WAIT_FIRST;
  /** The rate with the base in flight, and with the most that a doubling led to and that paid. */
  let start: Measured | undefined;
  let knee: Measured | undefined;
  /** The shortest of the calls that transfer most, in milliseconds. */
  let shortest = Infinity;
  let most = 0;
  /** Rounds in a row without a queue. */
  let calm = 0;
  let failedInARow = 0;
  let succeededInARow = 0;
  /** Rises while more than a tenth of the attempts fail. */
  let pressure = 0;
  /** `first`, or how many the store does not refuse. */
  let accepted = first;
  /** The first round is left out: connections are opened, and threads started. */
  let isWarm = false;

  let round = newRound(undefined);

  /** `last` is the time of the last completion. */
  function newRound(since: number | undefined) {
    return {
      since,
      last: since ?? 0,
      completed: 0,
      bytes: 0,
      full: 0,
      most: 0,
      slow: false,
      hasPauses: false,
    };
  }

  const change = (to: number): void => {
    const changed = Math.max(CALLS_MIN, Math.min(CALLS_MAX, to));
    if (changed === limit) return;
    limit = changed;
    round = newRound(undefined);
  };
  const giveUpGrowing = (): void => {
    doubling = false;
    wait = nextWait;
    nextWait = Math.min(WAIT_MAX, 2 * nextWait);
  };

  const beginAgain = (): void => {
    [base, start, knee] = [first, undefined, undefined];
    [isWarm, doubling, calm] = [false, wait === 0, 0];
    change(Math.min(limit, first));
  };

  const finishRound = (now: number): void => {
    const { since, completed, bytes, full, slow, hasPauses } = round;
    // Otherwise the caller, or memory, allows fewer, and more would not be measured.
    const isReached = round.most >= limit;
    const took = Math.max(now - since!, 1);
    const rate = bytes / took;
    if (!hasPauses) calm = completed / took < (NO_QUEUE * limit) / shortest ? 0 : calm + 1;
    const mayGrow = calm >= CALM_ROUNDS || most <= CALL_BYTES;
    shortest *= FORGET;
    const isFull = 2 * full >= completed;
    round = newRound(now);
    isRoundFinished = true;
    if (!isWarm) {
      isWarm = true;
      if (wait > 0 || slow || !isReached) return;
      if (most <= CALL_BYTES) {
        start = { calls: limit, rate };
        knee = start;
        change(Math.max(SMALL_AT_ONCE, 2 * limit));
        return;
      }
      // Bytes in flight = rate × round trip, for the rate of the process.
      const needed = Math.ceil((PROCESS_RATE * shortest) / (most + CALL_BYTES));
      base = Math.max(first, Math.min(needed, 2 * first));
      change(base);
      return;
    }
    // Whoever consumes or produces the content was what it waited for.
    if (!isFull) return;
    // With pauses, a low rate shows that the store has become slower, but a high one shows nothing.
    if (limit <= base || start === undefined || knee === undefined) {
      if (hasPauses) return;
      start = { calls: base, rate: start === undefined ? rate : (start.rate + rate) / 2 };
      knee = start;
    }
    const earnedSinceStart = earnedBy(start, rate);
    const earned =
      limit > knee.calls ? Math.min(earnedSinceStart, earnedBy(knee, rate)) : earnedSinceStart;
    const costsNothing = most <= CALL_BYTES && rate >= KEEPS_UP * Math.max(start.rate, knee.rate);
    if (earned < limit && limit > base && !costsNothing) {
      if (earnedSinceStart < knee.calls) knee = start;
      change(Math.max(knee.calls, Math.floor(earned)));
      if (limit === knee.calls) giveUpGrowing();
      doubling = false;
    } else if (hasPauses) return;
    else if (wait > 0) wait -= 1;
    else if (!slow && mayGrow && isReached) {
      if (doubling && limit < CALLS_MAX) knee = { calls: limit, rate };
      change(doubling ? 2 * limit : limit + 1);
    }
  };

  /**
   * The time since the last call was that of the caller. What has completed is kept if there were too few
   * calls between two pauses for a round. Otherwise it is the last of many, with less and less in flight.
   */
  const resume = (now: number): void => {
    if (round.since === undefined || isRoundFinished || !Number.isFinite(shortest)) {
      round = newRound(undefined);
    } else {
      // The first call's round trip is left out, because others would be completed during it.
      round.since += now - idleSince + shortest;
      round.last = now + shortest;
      round.hasPauses = true;
    }
    isRoundFinished = false;
  };

  return {
    limit: () => limit,
    running: () => running,
    largest: () => (most > 0 ? most : Infinity),
    retry() {
      failedInARow += 1;
      succeededInARow = 0;
      if (base > first) [base, start] = [first, undefined];
      doubling = false;
      wait = WAIT_AFTER_RETRY;
      pressure += RETRY_PRESSURE;
      if (pressure > PRESSURE_MAX) {
        pressure = 0;
        accepted = Math.max(Math.min(first, CALLS_REFUSED), Math.floor(accepted / 2));
      }
      change(failedInARow >= first ? CALLS_MIN : Math.min(limit, accepted));
    },
    start(started) {
      if (running === 0) resume(started);
      running += 1;
      const own = round;
      return {
        end(now, bytes) {
          const wasRunning = running;
          round.most = Math.max(round.most, running);
          running -= 1;
          if (running === 0) idleSince = now;
          if (bytes !== undefined) {
            failedInARow = 0;
            succeededInARow += 1;
            pressure = Math.max(0, pressure - 1);
            if (accepted < first && succeededInARow >= ROUNDS_AFTER_REFUSED * accepted) {
              succeededInARow = 0;
              accepted += 1;
            }
            // As many of them as of small ones would take much memory.
            if (most <= CALL_BYTES && bytes > CALL_BYTES && limit > first) beginAgain();
            if (bytes > 2 * most) shortest = Infinity;
            most = Math.max(most, bytes);
            if (2 * bytes >= most) shortest = Math.min(shortest, Math.max(now - started, CLOCK));
          }
          // Also after a failure, because the next call may be for something else.
          if (limit < first) return change(Math.min(limit + 1, accepted));
          if (bytes === undefined) {
            // The time of calls that failed together is not that of the others.
            if (running === 0 && round.since !== undefined) round.since += now - round.last;
            return;
          }
          if (round.since === undefined) {
            if (own === round) round.since = round.last = now;
            return;
          }
          round.last = now;
          round.completed += 1;
          round.bytes += bytes + CALL_BYTES;
          if (2 * wasRunning >= limit) round.full += 1;
          if (now - started > ROUND_TRIP_MAX) round.slow = true;
          if (round.completed >= (isWarm ? Math.max(ROUND_LEAST, limit) : limit)) finishRound(now);
        },
      };
    },
  };
}
