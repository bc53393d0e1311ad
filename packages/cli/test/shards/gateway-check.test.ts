import { describe, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { StorageError, wrapBackend } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import type { Session } from "../../src/session.ts";
import { checkGatewayShard } from "../../src/shards/gateway-check.ts";
import { readReport } from "../../src/shards/report.ts";
import { createWorkspace, expectFailure, noise, type Result } from "../support/cli.ts";
import { storeObjects } from "../support/gateway-objects.ts";
import { withoutTimes } from "../support/merged.ts";

setDefaultTimeout(60_000);

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;
const SHARDS = [1, 2, 3, 4];
const OBJECTS = 48;

mkdirSync(path("blobs"));
const backend = filesystem(path("blobs/s3"));
const { catalog, places, roots, open } = await storeObjects(workspace, backend, OBJECTS);

const reports = (name: string): string[] => SHARDS.map((index) => `${name}-${index}.json`);
const CHECK = ["gateway", "check", "--catalog", "catalog.sqlite"];
const check = (name: string, index: number, ...more: readonly string[]): Promise<Result> =>
  idk([...CHECK, ...more, "--shard", `${index}/4`, "--report", `${name}-${index}.json`]);
const lines = (text: string): string[] => text.trim().split("\n").toSorted();

test("a shard that was stopped continues after the last object that was recorded", async () => {
  const ignore = async (): Promise<void> => {};
  const out = { json: true, result: ignore, note: ignore, report: ignore, flush: ignore };
  const session = { out, signal: new AbortController().signal } as unknown as Session;
  let isSilent = true;
  const read: string[] = [];
  const silent = wrapBackend(backend, {
    get:
      (get) =>
      async (name, ...given) => {
        if (isSilent && name === roots[30]) throw new StorageError("unavailable", "503");
        if (name === roots[3]) throw new StorageError("not-found", "gone");
        read.push(name);
        return get(name, ...given);
      },
  });
  const stored = { objects: await open(silent), catalog };
  const part = { shard: { index: 1, count: 1 }, report: path("stopped.json") };
  const store = { kind: "filesystem", folder: path("blobs") } as const;
  const run = (): Promise<void> => checkGatewayShard(part, stored, { store, deep: true }, session);

  // As if each object took longer than the time between two records.
  let time = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => (time += 10_000));
  const stopped: unknown = await run().catch((error: unknown) => error);
  clock.mockRestore();
  expect(stopped).toMatchObject({ code: "unavailable" });
  const { bucket, key } = places[29]!;
  expect(await readReport(part.report)).toMatchObject({
    position: { object: { bucket, key: Buffer.from(key).toString("base64") } },
    counts: { objects: 30 },
    failed: { tree: 1 },
  });

  isSilent = false;
  read.length = 0;
  const failed: unknown = await run().catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: "tree" });
  expect(new Set(read)).toEqual(new Set(roots.slice(30)));
  const { position, counts, failures } = (await readReport(part.report))!;
  expect(position).toBeUndefined();
  expect(counts).toEqual({ objects: OBJECTS, reportedElsewhere: 0 });
  expect(failures).toEqual([{ code: "tree", message: expect.stringContaining('"b/key 03": ') }]);
});

describe("four shards of a gateway's store", () => {
  test.each([false, true])("come to the same as the whole (deep: %p)", async (deep) => {
    const name = deep ? "deep" : "sound";
    const more = deep ? ["--deep"] : [];
    for (const index of SHARDS) {
      const { code, stdout, stderr } = await check(name, index, ...more);
      expect([code, stdout]).toEqual([0, ""]);
      expect(stderr).toMatch(
        new RegExp(`^shard ${index}/4: checked \\d+ objects?: no problems found\n$`, "u"),
      );
    }
    const whole = await ok([...CHECK, ...more]);
    const merged = await ok(["merge-reports", ...reports(name).toReversed()]);
    expect([withoutTimes(merged.stdout), merged.stderr]).toEqual([whole.stderr, ""]);
    const json = await ok(["merge-reports", ...reports(name), "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      command: "gateway check",
      shards: 4,
      objects: OBJECTS,
      failed: 0,
    });
  });

  test("are refused by merge-reports if one is missing, or there twice, or of another catalog", async () => {
    const [one = "", two = "", three = "", four = ""] = reports("sound");
    expectFailure(await idk(["merge-reports", one, two, four]), 2, "no report of shard 3 of 4");
    expectFailure(
      await idk(["merge-reports", one, two, two, three, four]),
      2,
      `${two} and ${two} are both the report of shard 2/4`,
    );
    await ok(["gateway", "rebuild", "--catalog", "other.sqlite"]);
    const other = ["--catalog", "other.sqlite"];
    expectFailure(await check("sound", 3, ...other), 2, "the report of a run with catalog set to ");
    await check("other", 3, ...other);
    expectFailure(
      await idk(["merge-reports", one, two, "other-3.json", four]),
      2,
      `${one} is of a run with catalog set to `,
    );
  });

  test("name the objects that cannot be read, as the whole does", async () => {
    await backend.delete(roots[3]!);
    await backend.put(roots[5]!, noise(300));
    const whole = await idk([...CHECK, "--deep"]);
    expect(lines(whole.stdout)).toHaveLength(2);
    for (const index of SHARDS) await check("damaged", index, "--deep");
    const merged = await idk(["merge-reports", ...reports("damaged")]);
    expect(lines(withoutTimes(merged.stdout))).toEqual(
      lines(`${whole.stdout}checked ${OBJECTS} objects`),
    );
    expect([merged.code, merged.stderr]).toEqual([whole.code, whole.stderr]);
    expectFailure(whole, 5, `2 of ${OBJECTS} objects cannot be read`);
  });
});
