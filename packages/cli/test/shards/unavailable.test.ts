import { expect, test } from "bun:test";
import { StorageError } from "@idk/storage";
import { createHash } from "node:crypto";
import { memory } from "@idk/storage/memory";
import { readReport } from "../../src/shards/report.ts";
import { runShard } from "../../src/shards/run-shard.ts";
import { createWorkspace } from "../support/cli.ts";
import type { Session } from "../../src/session.ts";

const { path } = await createWorkspace();

test("a batch that the store could not answer for is tried again by the next run", async () => {
  const ignore = async (): Promise<void> => {};
  const out = {
    json: true,
    result: ignore,
    note: ignore,
    report: ignore,
    flush: ignore,
    fault: ignore,
  };
  const session = { out, signal: new AbortController().signal } as unknown as Session;
  const backend = memory();
  const blob = new Uint8Array(100).fill(7);
  await backend.put(createHash("sha256").update(blob).digest("hex"), blob);
  const file = path("report.json");
  const subject = {
    command: "verify",
    options: { depth: "blob" },
    stores: ["memory"],
    shard: { index: 1, count: 1 },
  } as const;
  let isBusy = true;
  const run = () =>
    runShard(
      { path: file, subject },
      [backend],
      async (_, [first], failures) => {
        if (isBusy) await failures.add(first!.name, new StorageError("unavailable", "busy"));
        return { blobs: isBusy ? 0 : 1 };
      },
      session,
    );
  const error: unknown = await run().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "unavailable" });
  expect(await readReport(file)).toMatchObject({ position: { place: 0, after: "" }, failed: {} });
  isBusy = false;
  await run();
  const report = await readReport(file);
  expect(report).toMatchObject({ counts: { blobs: 1 }, failed: {} });
  expect(report!.position).toBeUndefined();
});
