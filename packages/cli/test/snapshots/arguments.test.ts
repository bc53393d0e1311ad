import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { hostname } from "node:os";
import { formatPeriod, parsePeriod } from "../../src/config/times.ts";
import { contentJson, modeText, pathJson, pathText } from "../../src/snapshots/entries.ts";
import { defaultName, hostOf, hostPattern, splitSnapshotPath } from "../../src/snapshots/names.ts";
import { createAmounts } from "../../src/snapshots/progress/backup.ts";
import { inAnyCase } from "../../src/snapshots/excludes.ts";
import { failedLines, unfinishedLine, unfinishedOf } from "../../src/snapshots/unfinished.ts";
import { parseCount, parseShare, parseSpan } from "../../src/snapshots/policy.ts";

describe("SNAPSHOT:PATH", () => {
  test.each<[text: string, snapshot: string, path: string | undefined]>([
    ["latest", "latest", undefined],
    ["latest:", "latest", ""],
    ["latest:/etc", "latest", "/etc"],
    ["web1/etc~2:a:b", "web1/etc~2", "a:b"],
    ["web1@2026-11-20:/etc", "web1@2026-11-20", "/etc"],
    ["web1@2026-11-20T12:00Z", "web1@2026-11-20T12:00Z", undefined],
    ["web1@2026-11-20T12:00:30Z:/etc:x", "web1@2026-11-20T12:00:30Z", "/etc:x"],
    [":/etc", "", "/etc"],
  ])("%p", (text, snapshot, path) => {
    expect(splitSnapshotPath(text)).toEqual({ snapshot, path });
  });
});

describe("the name of snapshots that have none", () => {
  test("differs for different paths, and is allowed by the pattern of the host", () => {
    expect(defaultName(["/proc/version"], "web1")).toBe("web1/proc/version");
    expect(defaultName(["/usr/b", "/usr/a"], "web1")).toBe("web1/usr/a,/usr/b");
    expect(defaultName(["/"], "web1")).toBe("web1/");
    expect(hostPattern("web1")).toBe("web1/*");
  });

  test("has the host of the configuration, if it names one", () => {
    expect(hostOf(["home", "web1/*", "web2/*"])).toBe("web1");
    expect(hostOf(["a/b/*"])).toBe("a/b");
    for (const names of [undefined, [], ["home"], ["*"], ["*/*"], ["/*"]]) {
      expect(hostOf(names)).toBe(hostname());
    }
  });

  test("is the same for a path given in another way", () => {
    expect(defaultName(["/usr/../usr/./lib"], "h")).toBe(defaultName(["/usr/lib/"], "h"));
  });
});

describe("a pattern in any case", () => {
  test.each([
    ["*.tmp", "*.[tT][mM][pP]"],
    ["Ünder_1", "[Üü][nN][dD][eE][rR]_1"],
    ["[a-c]x[!Q]", "[a-cA-C][xX][!Qq]"],
    ["\\*\\a[]]", "\\*[\\a\\A][]]"],
    ["ß", "ß"],
    ["[a-Z0-9]", "[a-Z0-9]"],
  ])("%s", (pattern, both) => expect(inAnyCase(pattern)).toBe(both));
});

describe("periods", () => {
  test.each([
    ["7d", 604_800],
    ["36h", 129_600],
    ["1d12h", 129_600],
    ["1w", 604_800],
    ["90m", 5400],
    ["5s", 5],
  ])("%s", (text, seconds) => expect(parsePeriod(text)).toBe(seconds));

  test.each(["", "7", "d", "7 d", "7d ", "-7d", "1.5d", "7D", "7days"])("%p is none", (text) => {
    expect(() => parsePeriod(text)).toThrow("must be a period such as 7d");
  });

  test("are written as they are read", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (seconds) => {
        // Nine digits at most for each unit.
        expect(parsePeriod(formatPeriod(seconds))).toBe(seconds);
      }),
    );
  });
});

describe("what to keep", () => {
  test("counts", () => {
    expect([parseCount("7"), parseCount("0"), parseCount("unlimited")]).toEqual([7, 0, Infinity]);
    for (const text of ["", "-1", "1.5", "all", "1e3"]) {
      expect(() => parseCount(text)).toThrow("must be a number of snapshots");
    }
  });

  test("spans", () => {
    expect(parseSpan("1y6m")).toEqual({ years: 1, months: 6 });
    expect(parseSpan("90d")).toEqual({ days: 90 });
    expect(parseSpan("1y6m3d2h")).toEqual({ years: 1, months: 6, days: 3, hours: 2 });
    for (const text of ["", "1", "y", "1w", "1y 6m", "6m1x"]) {
      expect(() => parseSpan(text)).toThrow("must be a span");
    }
  });

  test("shares", () => {
    expect([parseShare("10%"), parseShare("100%"), parseShare("0.5%")]).toEqual([0.1, 1, 0.005]);
    for (const text of ["10", "0%", "101%", "-1%", "%"]) {
      expect(() => parseShare(text)).toThrow("must be a share");
    }
  });
});

describe("what earlier runs left", () => {
  const since = Date.parse("2026-11-20T12:00:00Z");
  const line = (after: number) =>
    unfinishedLine(unfinishedOf({ packs: 3, since }, { graceSeconds: 7200 }, since + after));

  test("is used until half the grace period has passed", () => {
    const shown = "unfinished  3 packs since 2026-11-20 12:00:00 UTC: the next backup";
    expect(line(3_599_999)).toBe(`${shown} uses them`);
    expect(line(3_600_000)).toStartWith(`${shown} sends again what is too old`);
    expect(unfinishedLine(unfinishedOf(undefined, { graceSeconds: 1 }, 0))).toEndWith("nothing");
  });

  test("are files that could not be read, or why there is no snapshot", () => {
    const file = { path: "/a", message: "permission denied" };
    const run = { at: since, failed: 25, files: Array.from({ length: 25 }, () => file) };
    const lines = failedLines(run);
    expect(lines[0]).toBe(
      "failed      25 files or folders of the last backup, 2026-11-20 12:00:00 UTC",
    );
    expect(lines[1]).toBe("            /a: permission denied");
    expect(lines.slice(21)).toEqual(["            and 5 more"]);
    const error = { code: "unavailable", message: "no route" };
    expect(failedLines({ at: since, failed: 0, files: [], error })).toEqual([
      "failed      the last backup, 2026-11-20 12:00:00 UTC, which made no snapshot: no route",
    ]);
    expect(failedLines({ at: since, failed: 0, files: [] })).toEqual([]);
    expect(failedLines(undefined)).toEqual([]);
  });
});

test("the progress of a backup grows within a large file, and never shrinks", () => {
  const amount = createAmounts();
  const none = { directories: 0, newFiles: 0, changedFiles: 0, unchangedFiles: 0, goneFiles: 0 };
  const shown = (files: number, bytes: number, newBytes: number) =>
    amount({ ...none, storedBytes: 0, errors: 0, files, bytes, newBytes }).bytes;
  // An old file of 100, a new one of 50, one of 60 whose half is new.
  const events = [
    [0, 0, 0],
    [1, 100, 0],
    [1, 100, 20],
    [1, 100, 45],
    [2, 150, 50],
    [2, 150, 80],
    [3, 210, 80],
  ];
  expect(events.map((event) => shown(event[0]!, event[1]!, event[2]!))).toEqual([
    0, 100, 120, 145, 150, 180, 210,
  ]);
  // Pieces that were counted, of a file that then could not be read.
  expect([shown(3, 210, 90), shown(3, 210, 90), shown(4, 211, 90)]).toEqual([220, 220, 220]);
});

describe("entries", () => {
  test.each<[type: "file" | "directory" | "link", mode: number, text: string]>([
    ["file", 0o644, "-rw-r--r--"],
    ["directory", 0o1777, "drwxrwxrwt"],
    ["file", 0o4755, "-rwsr-xr-x"],
    ["file", 0o6644, "-rwSr-Sr--"],
    ["link", 0o777, "lrwxrwxrwx"],
    ["file", 0, "----------"],
  ])("%s of mode %o", (type, mode, text) => expect(modeText({ type, mode })).toBe(text));

  test("of a snapshot have the paths that were backed up, and bytes where they are not UTF-8", () => {
    const paths = [Buffer.from("/home/me"), Buffer.from([0x2f, 0xff])];
    const totals = { files: 1, directories: 0, bytes: 5, newBytes: 5, storedBytes: 9, errors: 0 };
    const content = { host: "h", user: "u", paths, excludes: ["*.o"], start: 1, end: 2, totals };
    expect(contentJson(content)).toEqual({
      host: "h",
      user: "u",
      paths: ["/home/me", Buffer.from([0x2f, 0xff])],
      excludes: ["*.o"],
      start: 1,
      end: 2,
      ...totals,
    });
  });

  test("have paths that are safe to print, and bytes where they are not UTF-8", () => {
    const path = (text: string) => Buffer.from(text);
    expect(pathText(path("a\u001b]0;x\nb"))).toBe("/a\\u001b]0;x\\u000ab");
    expect(pathJson(path("a/ö"))).toBe("/a/ö");
    expect(pathJson(Uint8Array.of(0xff))).toEqual(Buffer.from("/\u00ff", "latin1"));
  });
});
