import { expect, test } from "bun:test";
import { threadPool } from "../../src/threads/pool.ts";

const NEVER_READY = new URL("never-ready.ts", import.meta.url).href;

test("closing does not wait for a thread that never reports", async () => {
  const pool = threadPool(1, NEVER_READY);
  const started = pool.start();
  expect(pool.areReady()).toBe(false);
  // Until the thread is there and waits.
  await new Promise<void>((resolve) => setTimeout(resolve, 300));
  await pool.close();
  await started;
  expect(pool.areReady()).toBe(false);
}, 5000);

test("a pool that is closed before it started does not start any more", async () => {
  const pool = threadPool(1, NEVER_READY);
  expect(pool.areReady()).toBe(false);
  await pool.close();
  expect(pool.areReady()).toBe(false);
}, 5000);

test("threads that cannot be started are not ready, and no error", async () => {
  const pool = threadPool(2, new URL("no-such-module.ts", import.meta.url).href);
  await pool.start();
  expect(pool.areReady()).toBe(false);
  await pool.close();
});

test("no threads are ready if none are asked for", async () => {
  const pool = threadPool(0, NEVER_READY);
  await pool.start();
  expect([pool.count, pool.areReady()]).toEqual([0, false]);
  for (const count of [-1, 65, 1.5]) {
    expect(() => threadPool(count, NEVER_READY)).toThrow("workers must be an integer");
  }
});
