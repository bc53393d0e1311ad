import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type RunStore, openRunStore } from "../../src/command/run-store.ts";
import { ROUND, inPlace, startProcess } from "../../src/compare/processes.ts";
import type { Counts } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";

const given = process.env["IDK_TEST_MINIO"];
if (given) describe("tasks of an object store", () => tests(new URL(given)));
else if (process.env["CI"]) throw new Error("IDK_TEST_MINIO is not set: script/minio starts one");
else
  test.skip("tasks of an object store: no MinIO (script/minio run COMMAND… starts one)", () => {});

function tests(url: URL): void {
  let store: RunStore;
  beforeAll(async () => {
    const server = {
      endpoint: url.origin,
      region: "us-east-1",
      accessKeyId: decodeURIComponent(url.username),
      secretAccessKey: decodeURIComponent(url.password),
    };
    store = await openRunStore({ kind: "server", server });
  });
  afterAll(() => store.close());

  const measure = async (task: TaskInfo, prefix: string): Promise<void> => {
    const { signal } = new AbortController();
    const place = { folder: tmpdir(), store: { ...store.access, prefix }, signal };
    await using process = await startProcess(
      { name: "main", script: ROUND },
      task,
      "measure",
      place,
    );
    await process.answer();
    expect((await process.run(task.least)).seconds).toBeGreaterThan(0);
    await process.end();
  };

  /** Requests and threads of one operation: content of up to 1 MiB is one blob, otherwise 4 MiB are. */
  const EXPECTED: Readonly<Record<string, Counts>> = {
    "put-store": { PUT: 1 },
    "get-store": { GET: 1 },
    "first-put": { PUT: 1 },
    "first-get": { GET: 1 },
    // The root and two leaves. Verifying and deleting read the root, and deleting 59 bytes of each leaf.
    "maintain-store": { PUT: 3, GET: 6, HEAD: 1, DELETE: 3 },
    "put-store-many": { PUT: 1 },
    "get-store-many": { GET: 1 },
    "put-store-8m": { PUT: 3, threads: 0 },
    "get-store-8m": { GET: 3, threads: 0 },
    "put-store-64m": { PUT: 17 },
    "get-store-64m": { GET: 17 },
    "stream-up-64m": { PUT: 17 },
    "stream-down-64m": { GET: 17 },
  };

  // Moving 64 MiB several times takes seconds, or many on a slow disk.
  const slow = process.env["IDK_TEST_SLOW"] === "1";
  const tested = TASKS.filter(
    ({ name, backendKind }) => backendKind === "store" && (slow || !name.endsWith("64m")),
  );
  for (const task of tested) {
    test(`${task.name}: measures time, counts requests on the wire, and leaves no object`, async () => {
      const prefix = `${store.access.prefix}${task.name}/`;
      const [counts] = await Promise.all([
        inPlace(
          { ...store.access, prefix: `${prefix}counted/` },
          AbortSignal.timeout(60_000),
        ).count(task),
        measure(task, `${prefix}measured/`),
      ]);
      const none = { GET: 0, PUT: 0, HEAD: 0, POST: 0, DELETE: 0 };
      expect(counts).toMatchObject({ ...none, ...EXPECTED[task.name] });
      // A listing by the library would not show what is below the prefix of each process.
      const { contents = [] } = await new Bun.S3Client(store.access).list({ prefix });
      expect(contents).toEqual([]);
    }, 60_000);
  }
}
