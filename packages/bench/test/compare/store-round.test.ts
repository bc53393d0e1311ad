import { join } from "node:path";
import { s3 } from "@idk/storage/s3";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type RunStore, openRunStore } from "../../src/command/run-store.ts";
import { output } from "../../src/compare/program.ts";
import type { Job, Outcome } from "../../src/compare/round/job.ts";
import { TASKS } from "../../src/compare/round/task-list.ts";

const ROUND = join(import.meta.dir, "../../src/compare/round");
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

  const round = async (task: string, mode: Job["mode"], operations: number): Promise<Outcome> => {
    const access = { ...store.access, prefix: `${store.access.prefix}${task}/` };
    const job: Job = { task, backendKind: "store", mode, operations, folder: "", store: access };
    const argv = [process.execPath, join(ROUND, "round.ts")];
    const { signal } = new AbortController();
    return JSON.parse(
      await output({ argv, cwd: ROUND, input: JSON.stringify(job), signal }),
    ) as Outcome;
  };

  for (const { name } of TASKS.filter(({ backendKind }) => backendKind === "store")) {
    test(`${name}: measures time, counts the same twice, and leaves no object`, async () => {
      expect(await round(name, "time", 2)).toMatchObject({ kind: "time" });
      const counted = await round(name, "count", 3);
      expect(await round(name, "count", 4)).toEqual(counted);
      // Content of up to 1 MiB is one blob and one request.
      expect(counted).toMatchObject({ kind: "count", counts: { requests: 1 } });
      const { endpoint, region, bucket, ...credentials } = store.access;
      const all = await Array.fromAsync(
        s3({ endpoint, region, bucket, prefix: `${credentials.prefix}${name}/`, credentials }).list(
          "",
        ),
      );
      expect(all).toEqual([]);
    }, 30_000);
  }
}
