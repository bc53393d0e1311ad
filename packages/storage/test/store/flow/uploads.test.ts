import { type Backend, type PutItem, StorageError, withRetry } from "../../../src/index.ts";
import { aliceStore, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { gated, settle } from "../many.ts";
import { type VirtualClock, virtualClock } from "./simulated.ts";
import { boundedUploads } from "../../../src/store/flow/uploads.ts";
import { createContentBudget } from "../../../src/store/flow/budget.ts";
import { createMeasuredFlow } from "../../../src/store/flow/flow.ts";
import { checkedTimeouts, firstByteMs } from "../../../src/backend/http/timeouts.ts";
import { memory } from "../../../src/backend/memory.ts";
import { wrapBackend } from "../../../src/backend/wrap.ts";

const KiB = 2 ** 10;
const MiB = 2 ** 20;

/** A line that connections share evenly, so that each is slower the more there are. */
interface SharedLine {
  /** Milliseconds. */
  readonly roundTrip: number;
  /** Bytes per millisecond. */
  rate: number;
}

/** A store behind the line, whose puts time out as those of an object store do. */
function behind(line: SharedLine, clock: VirtualClock) {
  const seen = { running: 0, most: 0, stored: 0, timeouts: 0 };
  const put = async (length: number): Promise<void> => {
    const deadline = clock.now() + firstByteMs(checkedTimeouts().firstByte, length);
    const step = (length / line.rate) * 0.2;
    await clock.sleep(line.roundTrip, undefined);
    for (let left = length; left > 0; left -= (step * line.rate) / seen.running) {
      if (clock.now() > deadline) {
        seen.timeouts += 1;
        throw new StorageError("unavailable", "no response in time", { transient: true });
      }
      await clock.sleep(step, undefined);
    }
    seen.stored += 1;
  };
  const backend = wrapBackend(memory(), {
    put: () => async (_, bytes) => {
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      try {
        await put(bytes.length);
      } finally {
        seen.running -= 1;
      }
    },
  });
  return { backend: withRetry(backend, {}, clock), seen };
}

/** Puts items of these sizes, 24 at first. */
async function putAll(
  line: SharedLine,
  sizes: readonly number[],
  bound: typeof boundedUploads = boundedUploads,
) {
  const clock = virtualClock();
  const { backend, seen } = behind(line, clock);
  const flow = createMeasuredFlow(
    (measuring) => ({ backend: bound(backend, clock.now), measuring }),
    createContentBudget(Infinity),
    24,
    clock.now,
  );
  async function* items() {
    yield* sizes;
  }
  const results = flow.map(
    items(),
    async (size, { backend: to, measuring: { measure, retry: onRetry } }) =>
      outcome(
        measure(
          () => to.put("", new Uint8Array(size), { onRetry }),
          () => size,
        ),
      ),
    { most: 64, itemBytes: 2 * MiB, signal: undefined, preserveOrder: false },
  );
  await clock.run(Array.fromAsync(results));
  return { ...seen, ms: clock.now() };
}

const unbounded = (backend: Backend) => backend;

describe("items of a megabyte over a line of 1 Mbit/s", () => {
  const slow = { roundTrip: 50, rate: 125 };

  test("are all stored, and none times out", async () => {
    const sizes = Array.from({ length: 30 }, () => MiB);
    const { stored, timeouts, ms } = await putAll(slow, sizes);
    expect([stored, timeouts]).toEqual([30, 0]);
    expect(ms).toBeLessThan((1.2 * 30 * MiB) / slow.rate);
  });

  test("are all stored among small ones, during which they complete", async () => {
    const sizes = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? MiB : 4 * KiB));
    expect(await putAll(slow, [MiB, ...sizes])).toMatchObject({ stored: 41, timeouts: 0 });
  });

  test("are all stored after small ones", async () => {
    const small = Array.from({ length: 200 }, () => 4 * KiB);
    const sizes = [...small, ...Array.from({ length: 10 }, () => MiB)];
    expect(await putAll(slow, sizes)).toMatchObject({ stored: 210, timeouts: 0 });
  });
});

test("a line that becomes slow gets fewer again", async () => {
  const clock = virtualClock();
  const line = { roundTrip: 50, rate: 10_000 };
  const { backend, seen } = behind(line, clock);
  const to = boundedUploads(backend, clock.now);
  const put = async (count: number) =>
    clock.run(
      Promise.all(
        Array.from({ length: count }, async () => outcome(to.put("", new Uint8Array(MiB)))),
      ),
    );
  await put(30);
  seen.most = 0;
  await put(30);
  expect(seen.most).toBe(30);
  line.rate = 100;
  await put(30);
  expect(seen.timeouts).toBeGreaterThan(0);
  Object.assign(seen, { most: 0, timeouts: 0 });
  await put(10);
  // In 30 s, the line carries 2.9 MiB.
  expect(seen).toMatchObject({ most: 3, timeouts: 0 });
});

test("what was delivered before a retry does not count after it", async () => {
  const { backend, waiting } = gated(memory());
  let time = 0;
  const retries: (() => void)[] = [];
  const noting = wrapBackend(backend, {
    put:
      (put) =>
      async (...given) => {
        retries.push(() => given[2]?.onRetry?.());
        return put(...given);
      },
  });
  const to = boundedUploads(noting, () => time);
  const put = async () => to.put("", new Uint8Array(MiB));
  const old = put();
  for (let i = 0; i < 50; i++) {
    const other = put();
    await settle();
    time += 10;
    waiting.pop()!.open();
    await other;
  }
  time = 46_000;
  retries[0]!();
  time = 100_000;
  waiting.pop()!.open();
  await old;
  const later = Array.from({ length: 10 }, put);
  await settle();
  expect(waiting).toHaveLength(2);
  while (waiting.length > 0) {
    waiting.pop()!.open();
    await settle();
  }
  await Promise.all(later);
});

describe("a fast line far away", () => {
  const far = { roundTrip: 50, rate: 100_000 };

  test("takes small items as fast as without a bound", async () => {
    const sizes = Array.from({ length: 500 }, () => 4 * KiB);
    expect(await putAll(far, sizes)).toEqual(await putAll(far, sizes, unbounded));
  });

  test("takes long items one round trip later", async () => {
    const sizes = Array.from({ length: 100 }, () => MiB);
    const bounded = await putAll(far, sizes);
    const free = await putAll(far, sizes, unbounded);
    expect(bounded.most).toBeGreaterThanOrEqual(24);
    expect(bounded.ms).toBeLessThan(free.ms + 2 * far.roundTrip);
  });
});

test("a putMany begins with two items of a megabyte, and goes on with many", async () => {
  const { backend, waiting } = gated(memory());
  const store = aliceStore({ backend, padding: "none", memory: 2 ** 30 });
  const items = Array.from({ length: 30 }, (_, key): PutItem<number> => {
    return { key, content: random(MiB), options: { onProgress: () => void (pulled += 1) } };
  });
  let pulled = 0;
  let isDone = false;
  const all = Array.fromAsync(store.putMany(items)).finally(() => (isDone = true));
  while (pulled < 24) await settle();
  await settle();
  expect(waiting).toHaveLength(2);
  for (const { open } of waiting.splice(0)) open();
  while (waiting.length < 20) await settle();
  for (const { open } of waiting.splice(0)) open();
  while (!isDone) {
    await settle();
    for (const { open } of waiting.splice(0)) open();
  }
  expect((await all).every(({ ok }) => ok)).toBe(true);
});

test("a put that is aborted while it waits ends at once, and lets the others in", async () => {
  const { backend, waiting } = gated(memory());
  let time = 0;
  const to = boundedUploads(backend, () => (time += 3_600_000));
  const abort = new AbortController();
  const put = async (signal?: AbortSignal) =>
    outcome(to.put("", new Uint8Array(2 * MiB), { signal }));
  const first = put();
  const second = put(abort.signal);
  const third = put();
  await settle();
  expect(waiting).toHaveLength(1);
  abort.abort();
  expect(await second).toBe("aborted");
  expect(waiting).toHaveLength(1);
  waiting[0]!.open();
  await settle();
  expect(waiting).toHaveLength(2);
  waiting[1]!.open();
  await Promise.all([first, third]);
});
