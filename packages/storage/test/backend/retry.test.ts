import { describe, expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { memory } from "../../src/backend/memory.ts";
import {
  type Clock,
  type Retry,
  type RetryOptions,
  systemClock,
  withRetry,
} from "../../src/backend/retry.ts";
import { aborted } from "../../src/abort.ts";
import { type ErrorCode, StorageError } from "../../src/errors.ts";
import { attesting } from "./attesting.ts";
import { rejects } from "./rejects.ts";

const NAME = "ab".repeat(32);
const NAMES = ["0", "1", "2", "3", "4", "5"].map((digit) => digit.repeat(64));
const BYTES = Uint8Array.of(1, 2, 3);
const MARKER = `${"0".repeat(32)}/${"1".repeat(16)}-${NAME}`;

const busy = (retryAfterMs?: number) =>
  new StorageError("unavailable", "slow down", { transient: true, retryAfterMs });

/** A clock that advances only in delays, with constant randomness. */
function fakeClock(random = 0.5, attemptMs = 0) {
  const waits: number[] = [];
  let time = 1000;
  const clock: Clock = {
    now: () => time,
    random: () => random,
    async sleep(ms, signal) {
      waits.push(ms);
      time += ms;
      if (signal?.aborted) throw aborted(signal);
    },
  };
  return { clock, waits, pass: (ms = attemptMs) => void (time += ms) };
}

/** A backend whose calls throw the errors in the list, one each, before they succeed. */
function failing(errors: readonly unknown[], inner: Backend = attesting()) {
  const left = [...errors];
  const calls: string[] = [];
  const next = (call: string): void => {
    calls.push(call);
    if (left.length > 0) throw left.shift();
  };
  const backend: Backend = {
    description: "failing",
    put: async (...given) => {
      next("put");
      return inner.put(...given);
    },
    get: async (...given) => {
      next("get");
      return inner.get(...given);
    },
    head: async (...given) => {
      next("head");
      return inner.head(...given);
    },
    delete: async (...given) => {
      next("delete");
      return inner.delete(...given);
    },
    async *list(...given) {
      next("list");
      yield* inner.list(...given);
    },
    capabilities: async (...given) => {
      next("capabilities");
      return inner.capabilities!(...given);
    },
    putMarker: async (...given) => {
      next("putMarker");
      return inner.putMarker!(...given);
    },
    async *listMarkers(...given) {
      next("listMarkers");
      yield* inner.listMarkers!(...given);
    },
    deleteMarker: async (...given) => {
      next("deleteMarker");
      return inner.deleteMarker!(...given);
    },
    currentTime: async (...given) => {
      next("currentTime");
      return inner.currentTime!(...given);
    },
  };
  return { backend, calls };
}

describe("a transient error", () => {
  test("is retried until the call succeeds", async () => {
    const calls = {
      put: (backend: Backend) => backend.put(NAME, BYTES),
      get: (backend: Backend) => backend.get(NAME, new Uint8Array(3)),
      head: (backend: Backend) => backend.head(NAME),
      delete: (backend: Backend) => backend.delete(NAME),
      list: (backend: Backend) => Array.fromAsync(backend.list("")),
      capabilities: (backend: Backend) => backend.capabilities!(),
      putMarker: (backend: Backend) => backend.putMarker!(MARKER),
      listMarkers: (backend: Backend) => Array.fromAsync(backend.listMarkers!("")),
      deleteMarker: (backend: Backend) => backend.deleteMarker!(MARKER),
      currentTime: (backend: Backend) => backend.currentTime!(),
    };
    for (const [name, call] of Object.entries(calls)) {
      const inner = attesting(memory({ now: () => 7 }));
      await inner.put(NAME, BYTES);
      const expected = await call(inner);
      await inner.put(NAME, BYTES);
      const { backend, calls: made } = failing([busy(), busy()], inner);
      const { clock, waits } = fakeClock();
      expect(await call(withRetry(backend, {}, clock))).toEqual(expected);
      expect(made).toEqual([name, name, name]);
      expect(waits).toEqual([125, 250]);
    }
  });

  test("is thrown once the budget, counted from the first attempt, is exhausted", async () => {
    const { clock, waits } = fakeClock(0.5);
    const options: RetryOptions = { budgetMs: 10_000, firstDelayMs: 1000, minAttempts: 1 };
    const errors = Array.from({ length: 20 }, () => busy());
    const { backend, calls } = failing(errors);
    expect(await rejects(withRetry(backend, options, clock).head(NAME), "unavailable")).toBe(
      errors[4]!,
    );
    expect(waits).toEqual([500, 1000, 2000, 4000]);
    expect(calls).toHaveLength(5);
  });

  test("is retried up to minAttempts even if the budget is exhausted", async () => {
    const { clock, waits, pass } = fakeClock();
    const { backend, calls } = failing(Array.from({ length: 20 }, () => busy()));
    const slow: Backend = {
      ...backend,
      head: async (...given) => {
        pass(60_000);
        return backend.head(...given);
      },
    };
    await rejects(withRetry(slow, {}, clock).head(NAME), "unavailable");
    expect(calls).toHaveLength(3);
    calls.length = 0;
    await rejects(withRetry(slow, { minAttempts: 8 }, clock).head(NAME), "unavailable");
    expect(calls).toHaveLength(8);
    expect(waits).toHaveLength(2 + 7);
  });

  test("of a read that the caller can do without is retried up to minAttempts", async () => {
    const range = (backend: Backend) =>
      backend.getRange!(NAME, 0, new Uint8Array(3), { optional: true });
    const whole = (backend: Backend) => backend.get(NAME, new Uint8Array(3), { optional: true });
    for (const read of [range, whole]) {
      const { clock, waits } = fakeClock();
      const error = busy();
      const fails = async () => {
        throw error;
      };
      const backend = { ...attesting(), get: fails, getRange: fails };
      expect(await rejects(read(withRetry(backend, {}, clock)), "unavailable")).toBe(error);
      expect(waits).toEqual([125, 250]);
    }
  });

  test("is followed by exponential backoff with full jitter up to maxDelayMs", async () => {
    for (const [random, expected] of [
      [0, [0, 0, 0, 0, 0]],
      [0.25, [250, 500, 1000, 1500, 1500]],
      [0.999_999, [1000, 2000, 4000, 6000, 6000]],
    ] as const) {
      const { clock, waits } = fakeClock(random);
      const { backend } = failing(Array.from({ length: 5 }, () => busy()));
      await withRetry(backend, { firstDelayMs: 1000, maxDelayMs: 6000 }, clock).head(NAME);
      expect(waits).toEqual([...expected]);
    }
  });

  test("is not retried earlier than the store requests", async () => {
    const { clock, waits } = fakeClock(0.5);
    const { backend } = failing([busy(3000), busy(25_000), busy()]);
    await withRetry(backend, { maxDelayMs: 1000 }, clock).head(NAME);
    expect(waits).toEqual([3125, 25_250, 500]);
  });

  test("is thrown if the store requests a longer delay than the budget", async () => {
    const { clock, waits } = fakeClock();
    const { backend } = failing([busy(60_001)]);
    await rejects(withRetry(backend, { minAttempts: 8 }, clock).head(NAME), "unavailable");
    expect(waits).toEqual([]);
  });

  test("is reported to onRetry before the delay", async () => {
    const { clock, waits } = fakeClock();
    const seen: (Retry & { waited: number })[] = [];
    const [first, second] = [busy(), busy(1000)];
    const { backend } = failing([first, second]);
    const onRetry = (retry: Retry) => void seen.push({ ...retry, waited: waits.length });
    await withRetry(backend, { onRetry }, clock).put(NAME, BYTES);
    expect(seen).toEqual([
      { call: "put", attempt: 1, delayMs: 125, error: first, waited: 0 },
      { call: "put", attempt: 2, delayMs: 1250, error: second, waited: 1 },
    ]);
  });
});

describe("a permanent error", () => {
  const others: unknown[] = [
    new StorageError("unavailable", "full"),
    ...(["limit", "not-found", "permission", "aborted"] satisfies ErrorCode[]).map(
      (code) => new StorageError(code, "so it is", { transient: true }),
    ),
    new TypeError("a bug"),
    "no error at all",
  ];

  for (const other of others) {
    test(`passes through at once: ${String(other)}`, async () => {
      const { clock, waits } = fakeClock();
      const { backend, calls } = failing([other]);
      const retrying = withRetry(backend, {}, clock);
      expect(await retrying.put(NAME, BYTES).catch((error: unknown) => error)).toBe(other);
      expect(calls).toHaveLength(1);
      expect(waits).toEqual([]);
    });
  }
});

describe("a signal", () => {
  const reason = new Error("the user left");

  test("that fires during a failing attempt prevents a retry", async () => {
    const controller = new AbortController();
    const { backend, calls } = failing([]);
    const broken: Backend = {
      ...backend,
      head: async () => {
        calls.push("head");
        controller.abort(reason);
        throw busy();
      },
    };
    const { clock, waits } = fakeClock();
    const error = await rejects(withRetry(broken, {}, clock).head(NAME, controller), "aborted");
    expect(error.cause).toBe(reason);
    expect(calls).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  test("ends a delay at once", async () => {
    const controller = new AbortController();
    const { backend, calls } = failing([busy(30_000)]);
    const retrying = withRetry(backend, {
      onRetry: () => setTimeout(() => controller.abort(reason), 5),
    });
    const start = performance.now();
    const error = await rejects(retrying.head(NAME, controller), "aborted");
    expect(performance.now() - start).toBeLessThan(5000);
    expect(error.cause).toBe(reason);
    expect(calls).toHaveLength(1);
  });

  test("reaches each attempt", async () => {
    const { clock } = fakeClock();
    const seen: (AbortSignal | undefined)[] = [];
    const backend: Backend = {
      ...memory(),
      put: async (_name, _bytes, options) => {
        seen.push(options?.signal);
        if (seen.length < 3) throw busy();
      },
    };
    const { signal } = new AbortController();
    await withRetry(backend, {}, clock).put(NAME, BYTES, { signal });
    expect(seen).toEqual([signal, signal, signal]);
  });

  test("that never fires keeps no listener", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const watched = new Proxy(signal, {
      get(target, key) {
        if (key === "addEventListener") return () => void (listeners += 1);
        if (key === "removeEventListener") return () => void (listeners -= 1);
        return Reflect.get(target, key) as unknown;
      },
    });
    await systemClock.sleep(1, watched);
    expect(listeners).toBe(0);
  });
});

describe("a listing", () => {
  /** Fails once before each of the blobs with these indexes, as if a page failed. */
  async function breaking(indexes: readonly number[], resumable: boolean) {
    const inner = attesting();
    for (const name of NAMES) await inner.put(name, BYTES);
    const left = new Set(indexes);
    const asked: (string | undefined)[] = [];
    async function* list(prefix: string, after: string | undefined) {
      asked.push(after);
      for await (const blob of inner.listAfter!(prefix, after ?? "")) {
        if (left.delete(NAMES.indexOf(blob.name))) throw busy();
        yield blob;
      }
    }
    const { listAfter: _, ...rest } = inner;
    const backend: Backend = {
      ...rest,
      list: (prefix) => list(prefix, undefined),
      ...(resumable && { listAfter: (prefix: string, after: string) => list(prefix, after) }),
    };
    return { backend, asked };
  }
  const namesOf = (blobs: AsyncIterable<{ name: string }>) =>
    Array.fromAsync(blobs, ({ name }) => name);

  test("continues after the last blob with listAfter, without gaps or repeats", async () => {
    const { backend, asked } = await breaking([0, 2, 3, 5], true);
    const { clock } = fakeClock();
    const retrying = withRetry(backend, {}, clock);
    expect(await namesOf(retrying.list(""))).toEqual(NAMES);
    expect(asked).toEqual([undefined, undefined, NAMES[1], NAMES[2], NAMES[4]]);
    asked.length = 0;
    expect(await namesOf(retrying.listAfter!("", NAMES[3]!))).toEqual(NAMES.slice(4));
    expect(asked).toEqual([NAMES[3]]);
  });

  test("restarts before its first blob, and later throws without listAfter", async () => {
    const { clock } = fakeClock();
    const early = withRetry((await breaking([0], false)).backend, {}, clock);
    expect(early.listAfter).toBeUndefined();
    expect(await namesOf(early.list(""))).toEqual(NAMES);
    const late = withRetry((await breaking([0, 3], false)).backend, {}, clock);
    const seen: string[] = [];
    const listing = (async () => {
      for await (const { name } of late.list("")) seen.push(name);
    })();
    await rejects(listing, "unavailable");
    expect(seen).toEqual(NAMES.slice(0, 3));
  });

  test("restarts the budget after each blob, however slow the consumer is", async () => {
    const { backend } = await breaking([1, 2, 3, 4], true);
    const { clock, waits, pass } = fakeClock();
    const seen: string[] = [];
    const retrying = withRetry(backend, { minAttempts: 1, budgetMs: 1000 }, clock);
    for await (const { name } of retrying.list("")) {
      seen.push(name);
      pass(100_000);
    }
    expect(seen).toEqual(NAMES);
    expect(waits).toEqual([125, 125, 125, 125]);
  });
});

test("withRetry rejects invalid options", () => {
  for (const options of [
    { budgetMs: -1 },
    { firstDelayMs: Number.NaN },
    { maxDelayMs: -5 },
    { minAttempts: 0 },
    { minAttempts: 1.5 },
  ]) {
    expect(() => withRetry(memory(), options)).toThrow("must be");
  }
});

describe("a listing of markers", () => {
  const markers = NAMES.map((name) => `${"0".repeat(32)}/${"1".repeat(16)}-${name}`);

  /** Fails after every two markers. */
  async function interrupted() {
    const inner = memory();
    for (const name of markers) await inner.putMarker!(name);
    const requests: unknown[] = [];
    const backend: Backend = {
      ...inner,
      async *listMarkers(prefix, options) {
        requests.push([options?.after, options?.limit]);
        let left = 2;
        for await (const marker of inner.listMarkers!(prefix, options)) {
          if (left-- === 0) throw busy();
          yield marker;
        }
      },
    };
    return { backend: withRetry(backend, {}, fakeClock().clock), requests };
  }

  test("continues behind the last one after a transient error", async () => {
    const { backend, requests } = await interrupted();
    const found = await Array.fromAsync(backend.listMarkers!(""));
    expect(found.map(({ name }) => name)).toEqual(markers);
    expect(requests).toEqual([
      [undefined, undefined],
      [markers[1], undefined],
      [markers[3], undefined],
    ]);
  });

  test("asks for no more than is left of its limit", async () => {
    const { backend, requests } = await interrupted();
    const found = await Array.fromAsync(backend.listMarkers!("", { after: markers[0]!, limit: 4 }));
    expect(found.map(({ name }) => name)).toEqual(markers.slice(1, 5));
    expect(requests).toEqual([
      [markers[0], 4],
      [markers[2], 2],
    ]);
  });
});
