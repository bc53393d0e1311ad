import { StorageError } from "@idk/storage";
import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../src/statistics/random.ts";
import { retrying } from "../../src/suites/sse-overhead/retrying.ts";

/** Work that fails a number of times before it returns "done". */
function failing(
  times: number,
  error: Error,
): { work: () => Promise<string>; calls: () => number } {
  let calls = 0;
  const work = async (): Promise<string> => {
    calls += 1;
    if (calls <= times) throw error;
    return "done";
  };
  return { work, calls: () => calls };
}

const busy = new StorageError("unavailable", "busy", { transient: true });

function retries(count: number, baseDelayMs: number, signal = new AbortController().signal) {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  return { lines, retry: retrying(count, baseDelayMs, seededRandom(1), { log, signal }) };
}

describe("retries of sse-overhead", () => {
  test("only the successful attempt is timed, and each retry is counted", async () => {
    const { retry, lines } = retries(5, 20);
    const { result, seconds } = await retry.run(failing(2, busy).work);
    expect([result, retry.count(), lines.length]).toEqual(["done", 2, 2]);
    // The waits are 10 to 20 ms, and 20 to 40 ms.
    expect(seconds).toBeLessThan(0.01);
  });

  test("each waits half to all of a delay that doubles", async () => {
    const { retry, lines } = retries(4, 8);
    await retry.run(failing(4, busy).work);
    const waits = lines.map((line) => Number(/^retrying in (\d+) ms: busy$/u.exec(line)?.[1]));
    for (const [i, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(4 * 2 ** i);
      expect(wait).toBeLessThanOrEqual(8 * 2 ** i);
    }
    expect(waits).toHaveLength(4);
    expect(waits).not.toEqual(waits.map((_, i) => waits[0]! * 2 ** i));
  });

  test("a server can ask for a longer wait", async () => {
    const { retry, lines } = retries(1, 1);
    const error = new StorageError("unavailable", "busy", { transient: true, retryAfterMs: 30 });
    await retry.run(failing(1, error).work);
    expect(lines).toEqual(["retrying in 30 ms: busy"]);
  });

  test("the last error is thrown, and one that is not transient at once", async () => {
    const often = failing(9, busy);
    expect(await retries(2, 1).retry.run(often.work).catch(String)).toContain("busy");
    expect(often.calls()).toBe(3);
    const denied = failing(9, new StorageError("permission", "denied"));
    expect(await retries(2, 1).retry.run(denied.work).catch(String)).toContain("denied");
    expect(denied.calls()).toBe(1);
  });

  test("bare requests are retried after 503, not after 403", async () => {
    const { retry } = retries(1, 1);
    await retry.run(failing(1, new Error("HEAD failed with 503: slow down")).work);
    expect(retry.count()).toBe(1);
    const denied = retry.run(failing(1, new Error("HEAD failed with 403: no")).work);
    expect(await denied.catch(String)).toContain("403");
  });

  test("an interruption ends the wait", async () => {
    const controller = new AbortController();
    const { retry } = retries(5, 60_000, controller.signal);
    const running = retry.run(failing(9, busy).work).catch(() => "stopped");
    setTimeout(() => controller.abort(), 5);
    expect(await running).toBe("stopped");
  });
});
