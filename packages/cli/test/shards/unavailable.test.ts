import { expect, setSystemTime, test } from "bun:test";
import { type Backend, StorageError } from "@idk/storage";
import { createHash } from "node:crypto";
import { memory } from "@idk/storage/memory";
import { newReport, readReport, UNANSWERED_MAX, writeReport } from "../../src/shards/report.ts";
import { runShard } from "../../src/shards/run-shard.ts";
import { createWorkspace } from "../support/cli.ts";
import type { Session } from "../../src/session.ts";

const { path } = await createWorkspace();
const ignore = async (): Promise<void> => {};
const notes: string[] = [];
const out = {
  json: false,
  result: ignore,
  note: async (line: string) => void notes.push(line),
  report: ignore,
  flush: ignore,
  fault: ignore,
};
const session = { out, signal: new AbortController().signal } as unknown as Session;

async function storeOf(blobs: number): Promise<Backend> {
  const backend = memory();
  for (let at = 0; at < blobs; at++) {
    const blob = new Uint8Array(100).fill(at);
    blob[0] = at >> 8;
    await backend.put(createHash("sha256").update(blob).digest("hex"), blob);
  }
  return backend;
}

const namesIn = async (backend: Backend): Promise<string[]> => {
  const names: string[] = [];
  for await (const { name } of backend.list("")) names.push(name);
  return names.toSorted();
};

const subjectOf = (name: string) =>
  ({
    path: path(name),
    subject: {
      command: "verify",
      options: { depth: "blob" },
      stores: ["memory"],
      shard: { index: 1, count: 1 },
    },
  }) as const;

const failureOf = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => undefined,
    (error: unknown) => error,
  );

test("a blob that the store does not answer for stops no shard, and the next run tries it again", async () => {
  const backend = await storeOf(600);
  const names = await namesIn(backend);
  // In two of three batches.
  const silent = new Set([names[3], names[300], names[301]]);
  const worked: string[] = [];
  const at = subjectOf("silent.json");
  const run = () =>
    runShard(
      at,
      [backend],
      async ({ blobs, failures }) => {
        let sound = 0;
        for (const { name, size } of blobs) {
          worked.push(name);
          expect(size).toBe(100);
          if (silent.has(name)) {
            await failures.add(name, new StorageError("unavailable", "archived"));
          } else sound += 1;
        }
        return { blobs: sound };
      },
      session,
    );

  expect(await failureOf(run())).toMatchObject({
    code: "unavailable",
    message: "3 of 600 blobs failed",
  });
  expect(worked).toEqual(names);
  const first = (await readReport(at.path))!;
  expect(first.position).toBeUndefined();
  expect(first).toMatchObject({ counts: { blobs: 597 }, failed: { unavailable: 3 } });
  expect(notes.at(-1)).toBe(
    "idk: the store did not answer for 3 blobs of shard 1/1: run the same command again to try them",
  );

  silent.delete(names[300]);
  [worked.length, notes.length] = [0, 0];
  expect(await failureOf(run())).toMatchObject({ message: "2 of 600 blobs failed" });
  expect(notes[0]).toBe("idk: shard 1/1 continues with 3 blobs that the store did not answer for");
  expect(worked).toEqual([names[3]!, names[300]!, names[301]!]);

  silent.clear();
  await run();
  expect(await readReport(at.path)).toMatchObject({
    counts: { blobs: 600 },
    failed: { unavailable: 0 },
    failures: [],
    unanswered: [],
  });
  worked.length = 0;
  await run();
  expect(worked).toEqual([]);
});

test("a run that ends while it tries blobs again leaves the others for the next", async () => {
  const backend = await storeOf(20);
  const names = await namesIn(backend);
  const at = subjectOf("ended.json");
  let answered = 0;
  const run = (answers: number) => {
    answered = 0;
    return runShard(
      at,
      [backend],
      async ({ blobs, failures, failedBefore }) => {
        if (failedBefore === 0) {
          for (const { name } of blobs) {
            await failures.add(name, new StorageError("unavailable", "busy"));
          }
          return {};
        }
        expect(failedBefore).toBe(blobs.length);
        if (answered + blobs.length > answers) throw new StorageError("unavailable", "down");
        answered += blobs.length;
        return { blobs: blobs.length };
      },
      session,
    );
  };
  await failureOf(run(0));
  expect(await failureOf(run(10))).toMatchObject({ message: "down" });
  expect(await readReport(at.path)).toMatchObject({
    counts: { blobs: 8 },
    failed: { unavailable: 12 },
  });
  expect(notes.at(-1)).toContain("the store did not answer for 12 blobs");
  await run(12);
  expect((await readReport(at.path))!.counts).toEqual({ blobs: names.length });
});

test("all blobs are tried again, also those whose failures the report does not name", async () => {
  const backend = await storeOf(2500);
  const damaged = new Set((await namesIn(backend)).slice(0, 1200));
  const at = subjectOf("many.json");
  let isBusy = true;
  const run = () =>
    runShard(
      at,
      [backend],
      async ({ blobs, failures }) => {
        for (const { name } of blobs) {
          if (damaged.has(name)) await failures.add(name, new StorageError("address", "damaged"));
          else if (isBusy) await failures.add(name, new StorageError("unavailable", "busy"));
        }
        return { blobs: blobs.length - failures.count };
      },
      session,
    );
  await failureOf(run());
  const report = await readReport(at.path);
  expect(report).toMatchObject({
    counts: { blobs: 0 },
    failed: { address: 1200, unavailable: 1300 },
  });
  expect(report!.failures.filter(({ code }) => code === "unavailable")).toEqual([]);
  isBusy = false;
  expect(await failureOf(run())).toMatchObject({ message: "1200 of 2500 blobs failed" });
  expect(await readReport(at.path)).toMatchObject({
    counts: { blobs: 1300 },
    failed: { address: 1200, unavailable: 0 },
    unanswered: [],
  });
});

test("more blobs without an answer than a report has stop the shard before their batch", async () => {
  const backend = await storeOf(257);
  const at = subjectOf("full.json");
  let isDown = true;
  const run = () =>
    runShard(
      at,
      [backend],
      async ({ blobs, failures }) => {
        for (const { name } of isDown ? blobs : []) {
          await failures.add(name, new StorageError("unavailable", "busy"));
        }
        return { blobs: blobs.length - failures.count };
      },
      session,
    );
  const most = Array.from({ length: UNANSWERED_MAX - 256 }, (_, index) => ({
    place: 0,
    name: index.toString(16).padStart(64, "0"),
    size: 100,
    code: "unavailable" as const,
  }));
  await writeReport(at.path, {
    ...newReport(at.subject),
    failed: { unavailable: most.length },
    unanswered: most,
  });
  const error = await failureOf(run());
  expect(error).toMatchObject({
    code: "unavailable",
    message:
      "stopped: the store did not answer for more than 100000 blobs of shard 1/1: check the store " +
      "and run the same command again, or divide the store into more shards",
  });
  const { position, failed } = (await readReport(at.path))!;
  expect(position?.after).toBe((await namesIn(backend))[255]);
  expect(failed).toEqual({ unavailable: UNANSWERED_MAX });
  isDown = false;
  await failureOf(run());
  expect(await readReport(at.path)).toMatchObject({ unanswered: [] });
});

test("a store that is down ends a run that tries blobs again, and one that lists its blobs does not", async () => {
  const backend = await storeOf(40);
  const at = subjectOf("retried.json");
  let isDown = false;
  let lists = 0;
  const place: Backend = {
    ...backend,
    list(prefix, options) {
      lists += 1;
      if (isDown) throw new StorageError("unavailable", "down");
      return backend.list(prefix, options);
    },
  };
  let tried = 0;
  const run = () => {
    [tried, lists] = [0, 0];
    return runShard(
      at,
      [place],
      async ({ blobs, failures }) => {
        tried += blobs.length;
        for (const { name } of blobs) {
          await failures.add(name, new StorageError("unavailable", "busy"));
        }
        return {};
      },
      session,
    );
  };
  await failureOf(run());
  const report = await readReport(at.path);
  expect(await failureOf(run())).toMatchObject({ message: "40 of 40 blobs failed" });
  expect([tried, lists]).toEqual([40, 10]);
  isDown = true;
  expect(await failureOf(run())).toMatchObject({ code: "unavailable", message: "down" });
  expect([tried, lists]).toEqual([4, 1]);
  expect((await readReport(at.path))!.unanswered).toEqual(report!.unanswered);
});

test("a store that answers for nothing stops the shard, and its batch is tried again", async () => {
  const backend = await storeOf(300);
  const at = subjectOf("down.json");
  let isDown = false;
  const run = () =>
    runShard(
      at,
      [backend],
      async ({ blobs }) => {
        if (isDown) throw new StorageError("unavailable", "down");
        isDown = true;
        return { blobs: blobs.length };
      },
      session,
    );
  expect(await failureOf(run())).toMatchObject({ message: "down" });
  expect(notes.at(-1)).toBe(
    "idk: shard 1/1 is not complete: run the same command again to continue",
  );
  const { position, counts, failed } = (await readReport(at.path))!;
  expect([position?.after, counts, failed]).toEqual([
    (await namesIn(backend))[255]!,
    { blobs: 256 },
    {},
  ]);
  isDown = false;
  await run();
  expect((await readReport(at.path))!.counts).toEqual({ blobs: 300 });
});

test.each([
  ["at the beginning", 1, 0],
  ["in the store", 2, 0],
  ["in its snapshots", 4, 1],
])("a run that continues %s fails if the snapshots are not there now", async (_, stop, place) => {
  const places = [await storeOf(300), await storeOf(300)];
  const at = subjectOf(`snapshots-${stop}.json`);
  let isDown = true;
  const run = (backends: readonly Backend[]) => {
    let batches = 0;
    return runShard(
      at,
      backends,
      async ({ blobs }) => {
        batches += 1;
        if (isDown && batches === stop) throw new StorageError("unavailable", "down");
        return { blobs: blobs.length };
      },
      session,
    );
  };
  await failureOf(run(places));
  isDown = false;
  const report = await readReport(at.path);
  expect(report!.position).toMatchObject({ place });
  const error = await failureOf(run(places.slice(0, 1)));
  expect(error).toMatchObject({ code: "unavailable" });
  expect((error as Error).message).toBe(
    `${at.path} is the report of a store with snapshots, which are not there now: check the path or the ` +
      "mount, or delete the report to begin again",
  );
  expect(await readReport(at.path)).toEqual(report);
  await run(places);
  expect((await readReport(at.path))!.counts).toEqual({ blobs: 600 });
});

test("a run that tries blobs again fails if the snapshots are not there now", async () => {
  const places = [await storeOf(5), await storeOf(5)];
  const at = subjectOf("snapshots-unanswered.json");
  let isBusy = true;
  const run = (backends: readonly Backend[]) =>
    runShard(
      at,
      backends,
      async ({ place, blobs, failures }) => {
        if (!isBusy || place === 1) return { blobs: blobs.length };
        for (const { name } of blobs) {
          await failures.add(name, new StorageError("unavailable", "busy"));
        }
        return {};
      },
      session,
    );
  await failureOf(run(places));
  isBusy = false;
  const report = await readReport(at.path);
  expect(report).toMatchObject({ counts: { blobs: 5 }, failed: { unavailable: 5 } });
  expect(await failureOf(run(places.slice(0, 1)))).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("snapshots, which are not there now"),
  });
  expect(await readReport(at.path)).toEqual(report);
  await run(places);
  expect((await readReport(at.path))!.counts).toEqual({ blobs: 10 });
  // There is nothing left to look at.
  await run(places.slice(0, 1));
});

test("snapshots that are new when a run continues have to be there for the next one, too", async () => {
  const places = [await storeOf(5), await storeOf(5)];
  const at = subjectOf("snapshots-new.json");
  const down = async (): Promise<never> => {
    throw new StorageError("unavailable", "down");
  };
  await failureOf(runShard(at, places.slice(0, 1), down, session));
  await failureOf(runShard(at, places, down, session));
  const worked = runShard(at, places.slice(0, 1), async () => ({}), session);
  expect(await failureOf(worked)).toMatchObject({ code: "unavailable" });
});

test("a report has the times when it was begun and complete, and a later run prints the second", async () => {
  const backend = await storeOf(300);
  const at = subjectOf("times.json");
  const run = (hour: string, isDown = false) => {
    setSystemTime(new Date(`2026-03-01T${hour}:00:00.500Z`));
    return runShard(
      at,
      [backend],
      async ({ blobs }) => {
        if (isDown && blobs.length < 256) throw new StorageError("unavailable", "down");
        return { blobs: blobs.length };
      },
      session,
    );
  };
  await failureOf(run("04", true));
  const begun = "2026-03-01T04:00:00.500Z";
  const first = await readReport(at.path);
  expect([first?.begun, first?.ended]).toEqual([begun, undefined]);
  await run("06");
  const second = await readReport(at.path);
  expect([second?.begun, second?.ended]).toEqual([begun, "2026-03-01T06:00:00.500Z"]);
  notes.length = 0;
  await run("08");
  setSystemTime();
  expect(notes[0]).toBe(
    `idk: shard 1/1 is complete since 2026-03-01 06:00:00 UTC: delete ${at.path} to work on it again`,
  );
  expect(await readReport(at.path)).toEqual(second);
});
