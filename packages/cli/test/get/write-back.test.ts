import { expect, test } from "bun:test";
import { createWriteBack } from "../../src/get/write-back.ts";

const MiB = 2 ** 20;

/** A disk whose syncs end on request. */
function slowDisk() {
  const ends: ((error?: Error) => void)[] = [];
  const sync = () =>
    new Promise<void>((resolve, reject) => {
      ends.push((error) => (error ? reject(error) : resolve()));
    });
  return { sync, ends };
}

test("syncs after enough bytes, one sync at a time", async () => {
  const { sync, ends } = slowDisk();
  const writeBack = createWriteBack(sync);
  writeBack.wrote(31 * MiB);
  expect(ends).toHaveLength(0);
  writeBack.wrote(MiB);
  expect(ends).toHaveLength(1);
  writeBack.wrote(100 * MiB);
  expect(ends).toHaveLength(1);
  ends[0]!();
  await writeBack.idle();
  writeBack.wrote(1);
  expect(ends).toHaveLength(2);
});

test("idle waits for a running sync, and assertGood throws its error", async () => {
  const { sync, ends } = slowDisk();
  const writeBack = createWriteBack(sync);
  await writeBack.idle();
  await writeBack.assertGood();
  writeBack.wrote(32 * MiB);
  let idle = false;
  const waiting = writeBack.idle().then(() => (idle = true));
  await Bun.sleep(1);
  expect(idle).toBe(false);
  ends[0]!(new Error("the first"));
  await waiting;
  // The system reports the error once; the next sync succeeds or fails for another reason.
  for (const later of [undefined, new Error("another")]) {
    writeBack.wrote(32 * MiB);
    ends.at(-1)!(later);
    await writeBack.idle();
  }
  expect(ends).toHaveLength(3);
  const failure = await writeBack.assertGood().catch((error: Error) => error.message);
  expect(failure).toBe("the first");
});
