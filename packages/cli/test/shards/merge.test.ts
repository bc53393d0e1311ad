import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mergeReports, unansweredText } from "../../src/shards/merge.ts";
import { addTo, newReport, readReport, type Report, writeReport } from "../../src/shards/report.ts";
import { summaryOf } from "../../src/shards/summary.ts";
import { createWorkspace } from "../support/cli.ts";

const { path } = await createWorkspace();

const SUBJECT = {
  command: "verify",
  options: { depth: "blob" },
  stores: ["folder /blobs"],
} as const;

function done(index: number, count: number, change: Partial<Report> = {}): Report {
  const begun = newReport({ ...SUBJECT, shard: { index, count } });
  const failed = index === 2 ? [{ item: "aa", code: "address", message: "damaged" } as const] : [];
  return {
    ...addTo(begun, { counts: { blobs: index, bytes: 10 * index }, failures: failed }),
    position: undefined,
    begun: `2026-03-0${index}T04:00:00.000Z`,
    ended: `2026-03-0${index}T05:30:00.000Z`,
    ...change,
  };
}

const merge = (...reports: readonly Report[]): Report =>
  mergeReports(reports.map((report, at) => ({ path: `${at + 1}.json`, report })));

describe("merging reports", () => {
  test("adds them up, in any order, and ends with the worst failure", () => {
    const parts = [done(3, 3), done(1, 3), done(2, 3)];
    const merged = merge(...parts);
    expect(merged.counts).toEqual({ blobs: 6, bytes: 60 });
    expect(merged.failed).toEqual({ address: 1 });
    expect(merged.failures).toEqual([{ item: "aa", code: "address", message: "damaged" }]);
    const { lines, failure } = summaryOf(merged, true);
    expect(lines).toEqual(["checked 7 blobs, 60 bytes; 1 failed"]);
    expect(failure).toMatchObject({ code: "address", message: "1 of 7 blobs failed" });
    expect(merged).toMatchObject({
      begun: "2026-03-01T04:00:00.000Z",
      ended: "2026-03-03T05:30:00.000Z",
    });
    const missing = done(1, 3, { failed: { "not-found": 2 } });
    const worse = summaryOf(merge(missing, done(2, 3), done(3, 3)), true).failure;
    expect(worse).toMatchObject({ code: "address", message: "3 of 9 blobs failed" });
  });

  test("of a check for completeness that opened nothing fails only as a whole", () => {
    const options = { depth: "complete" };
    const closed = done(1, 2, { options, counts: { roots: 0, closed: 3 } });
    const none = done(1, 2, { options, counts: {}, shard: { index: 2, count: 2 } });
    expect(summaryOf(closed, false).failure).toBeUndefined();
    expect(summaryOf(merge(closed, none), true).failure).toMatchObject({ code: "no-match" });
  });

  test("of a gateway's store whose blobs were lost from shard to shard fails only as a whole", () => {
    const part = (index: number, change: Partial<Report> = {}): Report =>
      done(index, 2, {
        command: "gateway check",
        options: { deep: false },
        counts: { objects: 3, reportedElsewhere: index - 1 },
        failed: {},
        failures: [],
        ...change,
      });
    expect(summaryOf(part(2), false)).toEqual({
      lines: [
        "checked 3 objects",
        "idk: note: blobs of 1 object are missing here, too, which another shard reports",
      ],
      failure: undefined,
    });
    const { lines, failure } = summaryOf(merge(part(1), part(2)), true);
    expect(lines).toEqual(["checked 6 objects"]);
    expect(failure).toMatchObject({ code: "tree" });
    expect(failure?.message).toStartWith("1 object lost blobs while");
    const reported = part(1, { failed: { tree: 2 } });
    expect(summaryOf(reported, false).failure?.message).toBe("2 objects cannot be read");
    expect(summaryOf(merge(reported, part(2)), true).failure?.message).toBe(
      "2 of 6 objects cannot be read",
    );
  });

  test("names the shards that lack answers of the store", () => {
    const blob = { place: 0, name: "ab".repeat(32), size: 100, code: "unavailable" } as const;
    const lacking = (index: number): Report =>
      addTo(done(index, 4), {
        failures: [{ item: blob.name, code: blob.code, message: "busy" }],
        unanswered: [blob],
      });
    const textOf = (...reports: readonly Report[]): string | undefined =>
      unansweredText(reports.map((report) => ({ path: "", report })));
    expect(textOf(done(1, 4), done(2, 4))).toBeUndefined();
    expect(textOf(lacking(4), done(1, 4), lacking(2))).toBe(
      "the store did not answer for some blobs of shards 2, 4 of 4: run their commands again to try them, then merge again",
    );
  });

  test.each<[readonly Report[], string]>([
    [[], "name the reports of all shards"],
    [[done(1, 3), done(1, 3)], "1.json and 2.json are both the report of shard 1/3: name only one"],
    [
      [done(2, 4), done(4, 4)],
      "no report of shards 1, 3 of 4: run their commands, and name their reports, too",
    ],
    [[done(1, 2)], "no report of shard 2 of 2: run its command, and name its report, too"],
    [
      [
        done(1, 2, { command: "check", shared: { snapshots: 1 } }),
        done(2, 2, { command: "check", shared: { snapshots: 2 } }),
      ],
      "1.json and 2.json are of checks that saw different snapshots",
    ],
    [[done(1, 2), done(2, 3)], "1.json is one of 2 shards, and 2.json one of 3"],
    [
      [done(1, 2), done(2, 2, { stores: ["folder /other"] })],
      "1.json is of the store folder /blobs, and 2.json folder /other",
    ],
    [
      [done(1, 2), done(2, 2, { command: "copy" })],
      "1.json is of the command verify, and 2.json copy",
    ],
    [
      [done(1, 2), done(2, 2, { options: { depth: "deep" } })],
      "1.json is of a run with depth set to blob, and 2.json deep: merge reports of one run",
    ],
    [
      [done(1, 2), done(2, 2, { options: { depth: "blob", dryRun: true } })],
      "1.json is of a run with dry-run set to nothing, and 2.json true",
    ],
    [
      [done(1, 2, { position: { place: 0, after: "" } }), done(2, 2)],
      "shard 1/2 in 1.json is not complete",
    ],
  ])("refuses %#", (reports, message) => {
    expect(() => merge(...reports)).toThrow(message);
  });
});

describe("the file of a report", () => {
  const file = path("report.json");

  test("is read as it was written, and may not exist", async () => {
    expect(await readReport(path("none"))).toBeUndefined();
    for (const report of [done(2, 3), newReport({ ...SUBJECT, shard: { index: 1, count: 1 } })]) {
      await writeReport(file, report);
      expect(await readReport(file)).toEqual(JSON.parse(JSON.stringify(report)));
    }
  });

  test.each<[string, object | string]>([
    ["text", "verify"],
    ["another version", { format: "idk-shard-report-2" }],
    ["another command", { command: "rm" }],
    ["a shard that is not one of its count", { shard: { index: 3, count: 2 } }],
    ["a count that is no number", { counts: { blobs: "1" } }],
    ["a negative count", { counts: { blobs: -1 } }],
    ["an unknown code", { failed: { strange: 1 } }],
    ["a position that is no address", { position: { place: 0, after: "../x" } }],
    [
      "an object whose key is no base64",
      { position: { place: 0, after: "", object: { bucket: 1, key: "../x" } } },
    ],
    [
      "a blob to try again that is no address",
      {
        failed: { unavailable: 1 },
        unanswered: [{ place: 0, name: "../x", size: 1, code: "unavailable" }],
      },
    ],
    [
      "a failure of a code that it does not count",
      { failed: { unavailable: 1 }, failures: [{ code: "address", message: "" }] },
    ],
    [
      "a blob to try again of a code that it does not count",
      {
        failed: { address: 1 },
        unanswered: [{ place: 0, name: "ab".repeat(32), size: 1, code: "unavailable" }],
      },
    ],
    ["a time that is no time", { begun: "yesterday" }],
    ["complete without a time", { ended: undefined }],
    ["no stores", { stores: undefined }],
  ])("is rejected: %s", async (_, change) => {
    const text = typeof change === "string" ? change : JSON.stringify({ ...done(1, 2), ...change });
    writeFileSync(file, text);
    expect(readReport(file)).rejects.toThrow("is not a report of this version of idk");
  });

  test("that cannot be written is an error with its name", async () => {
    const missing = join(path("nowhere"), "report.json");
    expect(writeReport(missing, done(1, 1))).rejects.toThrow(
      `cannot write the report ${missing}: no such file or folder`,
    );
  });

  test("names the first thousand failures, and counts all", () => {
    const failures = Array.from({ length: 1500 }, (_, at) => ({
      item: `${at}`,
      code: "address" as const,
      message: "x".repeat(5000),
    }));
    const report = addTo(done(1, 1), { failures });
    expect(report.failed).toEqual({ address: 1500 });
    expect(report.failures).toHaveLength(1000);
    expect(report.failures[0]!.message).toHaveLength(4096);
  });
});
