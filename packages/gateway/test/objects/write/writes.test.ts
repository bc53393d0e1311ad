import { expect, spyOn, test } from "bun:test";
import { CLAIM_EXPIRY } from "../../../src/catalog/catalog.ts";
import { createWrites, type Writes } from "../../../src/objects/write/writes.ts";

/** Writes whose timer the test lets run. */
function createTicking(
  beat: (seqs: readonly number[]) => ReadonlySet<number>,
  given: { endWrites?(seqs: readonly number[]): Promise<void> } = {},
): {
  readonly writes: Writes;
  readonly clock: { now: number };
  tick(): Promise<void>;
} {
  const clock = { now: 1_700_000_000_000 };
  let begun = 0;
  const catalog = {
    beginWrite: async () => (begun += 1),
    beat: async (seqs: readonly number[]) => beat(seqs),
    endWrites: async () => {},
    ...given,
  };
  const timer = spyOn(globalThis, "setInterval");
  try {
    const writes = createWrites(
      catalog,
      () => clock.now,
      () => {},
    );
    const tick = timer.mock.calls[0]![0] as () => void;
    return {
      writes,
      clock,
      async tick() {
        tick();
        await Bun.sleep(1);
      },
    };
  } finally {
    timer.mockRestore();
  }
}

test("signs of life keep a write alive", async () => {
  const { writes, clock, tick } = createTicking((seqs) => new Set(seqs));
  const write = await writes.begin();
  for (let i = 0; i < 5; i++) {
    clock.now += CLAIM_EXPIRY - 1;
    await tick();
    expect(write.isAlive()).toBe(true);
  }
  clock.now += CLAIM_EXPIRY;
  expect(write.isAlive()).toBe(false);
  writes.close();
});

test("a write that was silent for too long is dead for good", async () => {
  const beats: number[] = [];
  const { writes, clock, tick } = createTicking((seqs) => {
    beats.push(...seqs);
    return new Set(seqs);
  });
  const write = await writes.begin();
  // The process was stopped, and its timer is the first to run.
  clock.now += 25 * 60 * 60_000;
  await tick();
  expect(write.isAlive()).toBe(false);
  expect(beats).toEqual([]);
  clock.now -= 25 * 60 * 60_000;
  expect(write.isAlive()).toBe(false);
  writes.close();
});

test("a write that the catalog has taken for dead is dead", async () => {
  const { writes, clock, tick } = createTicking((seqs) => new Set(seqs.filter((seq) => seq > 2)));
  const [early, late] = [await writes.begin(), writes.adopt(2, { renew: async () => 3 })];
  clock.now += 60_000;
  await late.renew();
  await tick();
  expect([early.isAlive(), late.isAlive()]).toEqual([false, true]);
  writes.close();
});

test("a write that is renewed began when it first did, and ends under each of its numbers", async () => {
  const { writes, clock } = createTicking((seqs) => new Set(seqs));
  const [renewed, released]: [unknown[], number[]] = [[], []];
  const started = clock.now;
  const write = writes.adopt(100, {
    renew: async (given) => 100 + renewed.push(given),
    release: async (seq) => void released.push(seq),
  });
  for (let i = 0; i < 2; i++) {
    clock.now += 60_000;
    await write.renew();
  }
  await write.end();
  expect(renewed).toEqual([
    { seq: 100, started },
    { seq: 101, started },
  ]);
  expect(released).toEqual([100, 101, 102]);
  writes.close();
});

test("a write that is renewed during a sign of life stays alive", async () => {
  const ended = new Set<number>();
  const { writes, clock, tick } = createTicking(
    (seqs) => new Set(seqs.filter((seq) => !ended.has(seq))),
    {
      endWrites: async (seqs) => {
        for (const seq of seqs) ended.add(seq);
        await tick();
      },
    },
  );
  const write = writes.adopt(1, { renew: async () => 2 });
  clock.now += 60_000;
  await write.renew();
  expect([write.seq, [...ended], write.isAlive()]).toEqual([2, [1], true]);
  writes.close();
});
