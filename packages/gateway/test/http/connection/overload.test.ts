import { expect, test } from "bun:test";
import { limitedWait } from "../../../src/http/connection/overload.ts";

const exchangeOf = (given: { bytes?: () => number; isWaiting?: boolean }) => ({
  incoming: {
    bytes: { [Symbol.asyncIterator]: async function* () {} },
    count: given.bytes ?? (() => 0),
    isWaiting: () => given.isWaiting ?? false,
  },
  sent: () => 0,
  signal: new AbortController().signal,
});

/** Whether a request is told to slow down within 400 ms, if it may wait for 60. */
async function isStopped(
  given: Parameters<typeof exchangeOf>[0],
  operation = "PutObject",
  budgetWaiting = 1,
): Promise<boolean> {
  const wait = limitedWait(exchangeOf(given), operation, () => ({ budgetWaiting }), 60);
  await Bun.sleep(400);
  wait.end();
  if (wait.signal.aborted) expect(wait.signal.reason).toMatchObject({ code: "SlowDown" });
  return wait.signal.aborted;
}

test("a request that waits for memory for too long is told to slow down", async () => {
  let bytes = 0;
  const outcomes = await Promise.all([
    isStopped({}),
    isStopped({}, "GetObject"),
    isStopped({ bytes: () => (bytes += 1) }),
    isStopped({ isWaiting: true }),
    isStopped({}, "PutObject", 0),
    isStopped({}, "CompleteMultipartUpload"),
  ]);
  expect(outcomes).toEqual([true, true, false, false, false, false]);
});
