import type { StoredContent } from "@idk/storage";
import { expect, test } from "bun:test";
import { type ByteBudget, createByteBudget } from "../../src/get/byte-budget.ts";
import { download } from "../../src/get/download.ts";
import type { Output } from "../../src/output/output.ts";
import { createProgress } from "../../src/progress/meter.ts";
import type { Session } from "../../src/session.ts";
import { createWorkspace, until } from "../support/cli.ts";

const MiB = 2 ** 20;
const workspace = await createWorkspace();

/** Work that goes on until it is told how many bytes are left, none by default. */
function startWork(budget: ByteBudget, bytes: number) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const state = {
    started: false,
    left: undefined as ((bytes: number) => void) | undefined,
    end: resolve,
    fail: () => reject(new Error("failed")),
    done: Promise.resolve(),
  };
  state.done = budget.run(bytes, async (left) => {
    state.started = true;
    state.left = left;
    await promise;
  });
  return state;
}

const settle = () => Bun.sleep(0);
const started = (all: readonly { started: boolean }[]) => all.map((each) => each.started);

test("starts short work side by side, in order", async () => {
  const budget = createByteBudget(24, 16);
  const all = [5, 5, 5, 10, 8].map((bytes) => startWork(budget, bytes));
  await settle();
  // The last one would fit, but the one before it is first.
  expect(started(all)).toEqual([true, true, true, false, false]);
  all[1]!.end();
  await settle();
  expect(started(all)).toEqual([true, true, true, true, false]);
  all[0]!.end();
  await settle();
  expect(started(all)).toEqual([true, true, true, true, true]);
});

test("starts the next long work when little is left of the one before", async () => {
  const budget = createByteBudget(24, 16);
  const all = [1000, 1000, 1000].map((bytes) => startWork(budget, bytes));
  await settle();
  for (const left of [999, 17, 16, 9]) {
    all[0]!.left!(left);
    await settle();
    expect(started(all)).toEqual([true, false, false]);
  }
  all[0]!.left!(8);
  await settle();
  expect(started(all)).toEqual([true, true, false]);
  // What is left can only fall.
  all[0]!.left!(16);
  all[0]!.left!(0);
  all[0]!.end();
  await settle();
  expect(started(all)).toEqual([true, true, false]);
  all[1]!.left!(8);
  await settle();
  expect(started(all)).toEqual([true, true, true]);
});

test("goes on after work that failed, and starts what exceeds the budget alone", async () => {
  const budget = createByteBudget(10, 16);
  const all = [16, 16].map((bytes) => startWork(budget, bytes));
  await settle();
  expect(started(all)).toEqual([true, false]);
  all[0]!.fail();
  expect(await all[0]!.done.catch((error: Error) => error.message)).toBe("failed");
  await settle();
  expect(started(all)).toEqual([true, true]);
});

test("a get asks for the next content before the last chunks of this one have arrived", async () => {
  const out = { json: true } as Output;
  const session = { out } as Session;
  const meter = createProgress(undefined).start({ command: "get" });
  const [size, piece] = [8 * MiB, new Uint8Array(MiB)];
  const lastPieces = Promise.withResolvers<void>();
  const asked: string[] = [];
  const contentOf = (name: string) => ({
    size,
    metadata: {},
    async *chunks() {
      asked.push(name);
      for (let at = 0; at < size; at += piece.length) {
        if (name === "first" && at === 6 * MiB) await lastPieces.promise;
        yield piece;
      }
    },
  });
  const budget = createByteBudget(6 * MiB, 4 * MiB);
  const get = (name: string) =>
    download(
      async () => contentOf(name) as unknown as StoredContent,
      workspace.path(name),
      { address: "a".repeat(64), force: false, resume: false, follow: false, budget, meter },
      session,
    );
  const first = get("first");
  await until(() => asked.length === 1);
  const second = get("second");
  await until(() => asked.length === 2);
  lastPieces.resolve();
  for (const { written } of await Promise.all([first, second])) expect(written).toBe(size);
});
