import { describe, expect, test } from "bun:test";
import type { Backend, CallOptions } from "../../../src/backend/backend.ts";
import { memory } from "../../../src/backend/memory.ts";
import { wrapBackend } from "../../../src/backend/wrap.ts";
import { StorageError } from "../../../src/errors.ts";
import { inParallel, parallelBlobs, parallelRequests } from "../../../src/store/flow/parallel.ts";
import { outcome } from "../../support.ts";

/** Counts what is in flight, each call for so many milliseconds. */
function counting(ms: number) {
  const count = { now: 0, most: 0, begun: 0 };
  const call = async (): Promise<void> => {
    count.begun += 1;
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    await Bun.sleep(ms);
    count.now -= 1;
  };
  return { count, call };
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i);

describe("requests in parallel", () => {
  test("begin with four, and are more if the store is far away", async () => {
    const requests = parallelRequests();
    const few = counting(200);
    const all = requests.each(numbers(64), few.call);
    await Bun.sleep(50);
    expect(few.count.begun).toBe(4);
    await all;
    const many = counting(50);
    await requests.each(numbers(400), many.call);
    expect(many.count).toMatchObject({ now: 0, begun: 400 });
    expect(many.count.most).toBeGreaterThan(16);
  });

  test("are no more than the caller allows", async () => {
    for (const concurrency of [1, 3]) {
      const { count, call } = counting(5);
      await parallelRequests({ concurrency }).each(numbers(60), call);
      expect(count).toMatchObject({ most: concurrency, begun: 60 });
    }
    for (const concurrency of [0, 65, 1.5, Number.NaN]) {
      for (const create of [parallelRequests, () => parallelBlobs(memory(), { concurrency })]) {
        expect(() => create({ concurrency })).toThrow(
          "concurrency must be an integer from 1 to 64",
        );
      }
    }
  });

  test("are at most four while the store refuses", async () => {
    const { count, call } = counting(10);
    const refused = async (_: number, { onRetry }: CallOptions) => {
      onRetry?.();
      await call();
    };
    await parallelRequests().each(numbers(200), refused);
    expect(count.begun).toBe(200);
    expect(count.most).toBeLessThanOrEqual(4);
  });

  test("end with the first failure: what is in flight is finished, and nothing else begun", async () => {
    const { count, call } = counting(20);
    const failing = async (i: number) => {
      await call();
      if (i === 0) throw new StorageError("unavailable", "the store is down");
    };
    expect(await outcome(parallelRequests().each(numbers(100), failing))).toBe("unavailable");
    expect(count).toMatchObject({ now: 0, begun: 4 });
  });

  test("end with the first failure of what is listed", async () => {
    const { count, call } = counting(20);
    async function* listed() {
      // More than are in flight at once.
      yield* numbers(20);
      throw new StorageError("unavailable", "the store is down");
    }
    expect(await outcome(parallelRequests().each(listed(), call))).toBe("unavailable");
    expect(count.now).toBe(0);
    expect(count.begun).toBeLessThanOrEqual(4);
  });

  test("end with their signal, once nothing is in flight", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { count, call } = counting(20);
    const work = async (i: number, given: CallOptions) => {
      expect(given.signal).toBe(signal);
      if (i === 2) controller.abort();
      await call();
    };
    expect(await outcome(parallelRequests().each(numbers(100), work, { signal }))).toBe("aborted");
    expect(count.now).toBe(0);
    expect(count.begun).toBeLessThanOrEqual(4);
  });
});

describe("requests that are made one by one", () => {
  test("wait for each other, and return what they return", async () => {
    const { count, call } = counting(20);
    const requests = parallelRequests({ concurrency: 2 });
    const all = numbers(10).map((i) => requests.one(async () => (await call(), i)));
    expect(await Promise.all(all)).toEqual(numbers(10));
    expect(count).toMatchObject({ now: 0, most: 2 });
  });

  test("fail alone", async () => {
    const requests = parallelRequests({ concurrency: 1 });
    const error = new StorageError("unavailable", "the store is down");
    const failing = requests.one(() => Promise.reject(error));
    const next = requests.one(async () => "next");
    expect([await outcome(failing), await next]).toEqual(["unavailable", "next"]);
    expect(await outcome(requests.one(async () => 1, { signal: AbortSignal.abort() }))).toBe(
      "aborted",
    );
  });
});

describe("blobs in parallel", () => {
  const NAME = "a".repeat(64);
  /** A backend that takes a while, and how many of its reads are in flight. */
  const slow = () => {
    const { count, call } = counting(50);
    const backend = wrapBackend(memory(), {
      get: () => async (_, buffer) => {
        await call();
        return buffer.length;
      },
    });
    return { count, backend };
  };
  const read = (_: unknown, from: Backend, size = 1) => from.get(NAME, new Uint8Array(size));
  const sized = (length: number, size?: number) => numbers(length).map(() => ({ size }));

  test("are more if they are short and the store is far away", async () => {
    const short = slow();
    await parallelBlobs(short.backend).each(sized(300, 1000), read);
    expect(short.count.most).toBeGreaterThan(16);
    const long = slow();
    await parallelBlobs(long.backend).each(sized(60, 2 ** 20), read);
    expect(long.count.most).toBeLessThanOrEqual(8);
  });

  test("may be read in part: that is measured, and told of retries", async () => {
    const { count, call } = counting(50);
    let retries = 0;
    const ranges = wrapBackend(memory(), {
      getRange: () => async (_, __, buffer, given) => {
        if (retries < 3) {
          retries += 1;
          given?.onRetry?.();
        }
        await call();
        return buffer.length;
      },
    });
    const readStart = (_: unknown, from: Backend) => from.getRange!(NAME, 0, new Uint8Array(6));
    const blobs = parallelBlobs(ranges);
    await blobs.each(sized(20, 2 ** 20), readStart);
    expect([retries, count.most]).toEqual([3, 4]);
    await parallelBlobs(ranges).each(sized(60, 2 ** 20), readStart);
    expect(count.most).toBe(8);
  });

  test("are two if there is no memory", async () => {
    const { count, backend } = slow();
    await parallelBlobs(backend, { memory: 1 }).each(sized(20, 1000), read);
    expect(count.most).toBe(2);
  });

  test("are read again if they are longer than listed", async () => {
    const sizes: (number | undefined)[] = [];
    const work = async (_: unknown, __: Backend, size: number | undefined) => {
      sizes.push(size);
      if (size !== undefined) throw new StorageError("limit", "longer than its buffer");
    };
    await parallelBlobs(memory()).each([{ size: 10 }, {}], work);
    expect(sizes).toEqual([10, undefined, undefined]);
  });
});

test("as many items are worked on at once as the caller says, from any iterable", async () => {
  async function* later() {
    yield* numbers(20);
  }
  for (const items of [numbers(20), later()]) {
    const { count, call } = counting(5);
    await inParallel(items, 6, call);
    expect(count).toMatchObject({ now: 0, most: 6, begun: 20 });
  }
});
