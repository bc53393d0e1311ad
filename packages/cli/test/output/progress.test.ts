import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mkdirSync } from "node:fs";
import { createScreen } from "../../src/output/screen.ts";
import { roundBytes } from "../../src/output/text.ts";
import { barLine, type BarStyle } from "../../src/progress/bar.ts";
import { createMeter, createRate } from "../../src/progress/meter.ts";
import {
  fractionOf,
  type ProgressView,
  secondsLeft,
  type Snapshot,
} from "../../src/progress/snapshot.ts";
import { duration, plainLine, progressEvent } from "../../src/progress/words.ts";
import { atTerminal, type Step } from "../support/at-terminal.ts";
import { checkManners, createWorkspace, isolated, MAIN, noise } from "../support/cli.ts";

// oxlint-disable no-control-regex -- what a terminal gets is made of them.

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const PLAIN: BarStyle = { done: "#", rest: ".", cut: "...", highlight: (text) => text };

const state: Snapshot = {
  command: "put",
  name: "film.mov",
  elapsedMs: 4000,
  bytes: 1.5 * GIB,
  totalBytes: 2 * GIB,
  chunks: 384,
  items: 0,
  retries: 2,
  bytesPerSecond: 256 * MIB,
};

describe("the progress bar", () => {
  test.each<[columns: number, line: string]>([
    [
      120,
      "put film.mov  #################......  75 %  1.5 GiB of 2.0 GiB  256 MiB/s  2 s left  384 chunks  2 retries",
    ],
    [85, "put film.mov  ########  75 %  1.5 GiB of 2.0 GiB  256 MiB/s  2 s left  2 retries"],
    [50, "put  ########  75 %  1.5 GiB  256 MiB/s  2 s left"],
    [40, "put  75 %  1.5 GiB  256 MiB/s  2 s left"],
    [28, "put  75 %  1.5 GiB  2 s left"],
    [16, "75 %  2 s left"],
    [5, "75 %"],
    [2, ""],
  ])("fits %i columns", (columns, line) => {
    const shown = barLine(state, columns, PLAIN);
    expect(shown.replace(/[#.]{8,}/u, "")).toBe(line.replace(/[#.]{8,}/u, ""));
    expect(shown.length).toBeLessThanOrEqual(columns);
    const bar = /[#.]{8,}/u.exec(shown)?.[0];
    expect(bar === undefined).toBe(columns < 50);
    if (bar !== undefined) expect(/^#*/u.exec(bar)![0]).toHaveLength(Math.floor(bar.length * 0.75));
  });

  test("is never wider than the terminal, and prints no control characters", () => {
    const bytes = fc.integer({ min: 0, max: 2 ** 50 });
    const few = fc.integer({ min: 0, max: 1e7 });
    const states: fc.Arbitrary<Snapshot> = fc.record({
      command: fc.constantFrom("put", "verify"),
      name: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
      noun: fc.constantFrom("file", undefined),
      elapsedMs: few,
      bytes,
      totalBytes: fc.option(bytes, { nil: undefined }),
      chunks: few,
      items: few,
      totalItems: fc.option(few, { nil: undefined }),
      retries: few,
      bytesPerSecond: bytes,
    });
    fc.assert(
      fc.property(states, fc.integer({ min: 1, max: 250 }), (any, columns) => {
        const line = barLine(any, columns, PLAIN);
        expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
        expect(line).not.toMatch(/\p{Cc}/u);
        expect(line).not.toMatch(/NaN|Infinity|undefined/u);
        expect(plainLine(any)).not.toMatch(/NaN|Infinity|undefined/u);
      }),
      { numRuns: 1000 },
    );
  });

  test("shows what is known if there is no total", () => {
    const { totalBytes: _, ...open } = state;
    expect(barLine(open, 100, PLAIN)).toBe(
      "put film.mov  1.5 GiB  256 MiB/s  384 chunks  2 retries",
    );
    // A growing file: no percentage is better than a wrong one.
    expect(barLine({ ...state, totalBytes: GIB }, 100, PLAIN)).not.toContain("%");
    const files = { ...state, name: undefined, noun: "file", items: 3, totalItems: 12, retries: 0 };
    expect(barLine(files, 120, PLAIN)).toContain("  3 of 12 files  384 chunks");
  });

  test("shows the new bytes of a backup, if there is room", () => {
    const backup = { ...state, command: "backup", name: undefined, noun: "file", items: 3 };
    const line = barLine({ ...backup, newBytes: 20 * MIB }, 120, PLAIN);
    expect(line).toContain("  1.5 GiB of 2.0 GiB  20.0 MiB new  256 MiB/s  2 s left  3 files");
    expect(barLine({ ...backup, newBytes: 20 * MIB }, 60, PLAIN)).not.toContain("new");
    expect(plainLine({ ...backup, newBytes: 0 })).toContain(", 0 bytes new, 3 files");
    expect(plainLine(backup)).not.toContain("new");
    expect(progressEvent({ ...backup, newBytes: 7 }).progress).toMatchObject({ newBytes: 7 });
    expect(progressEvent(backup).progress).not.toHaveProperty("newBytes");
  });

  test("counts the new bytes of all parts, once a part tells them", () => {
    const shown: Snapshot[] = [];
    let at = 0;
    const view: ProgressView = { show: (next) => void shown.push(next), end() {} };
    const display = { firstMs: 0, everyMs: 1, open: async () => view };
    const meter = createMeter({ command: "backup" }, display, { count: 0 }, () => (at += 1));
    const [first, second] = [meter.part(), meter.part()];
    first({ bytes: 10, newBytes: 4 });
    first({ bytes: 20, newBytes: 6 });
    second({ bytes: 5, newBytes: 5 });
    return new Promise<void>((done) => setTimeout(done, 50)).then(() => {
      meter.finish();
      expect(shown.at(-1)).toMatchObject({ bytes: 25, newBytes: 11 });
    });
  });

  test("shows the end of a long name", () => {
    const name = `/home/ada/${"long/".repeat(20)}report.pdf`;
    expect(barLine({ ...state, name }, 200, PLAIN)).toContain("put ...");
    expect(barLine({ ...state, name }, 200, PLAIN)).toContain("/report.pdf  #");
  });
});

describe("words and numbers", () => {
  test.each([
    [0, "0 s"],
    [59.4, "59 s"],
    [59.6, "1 min 0 s"],
    [3599, "59 min 59 s"],
    [7500, "2 h 5 min"],
  ])("%p seconds are %s", (seconds, words) => expect(duration(seconds)).toBe(words));

  test.each([
    [0, "0 bytes"],
    [1023, "1023 bytes"],
    [1024, "1.0 KiB"],
    [1024 * 1024 - 1, "1.0 MiB"],
    [99.96 * MIB, "100 MiB"],
    [2 ** 60, "1024 PiB"],
  ])("%p bytes are %s", (bytes, words) => expect(roundBytes(bytes)).toBe(words));

  test("formats a log line", () => {
    expect(plainLine(state)).toBe(
      "put film.mov: 75 %, 1.5 GiB of 2.0 GiB, 384 chunks, 256 MiB/s, 2 s left, 2 retries",
    );
    expect(plainLine({ ...state, name: "a\u001bb" })).toStartWith(String.raw`put a\u001bb: `);
  });

  test("an event omits unknown values", () => {
    expect(progressEvent(state)).toEqual({
      progress: {
        command: "put",
        seconds: 4,
        bytes: 1.5 * GIB,
        totalBytes: 2 * GIB,
        chunks: 384,
        retries: 2,
        bytesPerSecond: 256 * MIB,
        secondsLeft: 2,
      },
    });
    const { totalBytes: _, ...open } = state;
    expect(Object.keys(progressEvent({ ...open, noun: "file" }).progress)).toEqual([
      "command",
      "seconds",
      "bytes",
      "chunks",
      "items",
      "retries",
      "bytesPerSecond",
    ]);
  });

  test("uses items if the total bytes are unknown", () => {
    const { totalBytes: _, ...open } = state;
    const blobs = { ...open, items: 25, totalItems: 100, elapsedMs: 10_000 };
    expect([fractionOf(blobs), secondsLeft(blobs)]).toEqual([0.25, 30]);
    expect(secondsLeft({ ...state, bytesPerSecond: 0 })).toBeUndefined();
    expect(fractionOf({ ...open, items: 0, totalItems: 0 })).toBeUndefined();
  });

  test("measures the rate over the last seconds", () => {
    const rate = createRate();
    expect(rate.perSecond()).toBe(0);
    for (let at = 0; at <= 60_000; at += 1000) rate.sample(at < 30_000 ? at : 30_000, at);
    expect(rate.perSecond()).toBe(0);
    const steady = createRate();
    for (let at = 0; at <= 60_000; at += 1000) steady.sample(5 * at, at);
    expect(steady.perSecond()).toBe(5000);
    const sparse = createRate();
    for (let at = 0; at <= 60_000; at += 10_000) sparse.sample(2 * at, at);
    expect(sparse.perSecond()).toBe(2000);
  });
});

describe("a meter", () => {
  function watched() {
    const shown: Snapshot[] = [];
    let ended = 0;
    const presenter: ProgressView = { show: (next) => shown.push(next), end: () => (ended += 1) };
    const display = { firstMs: 5, everyMs: 5, open: async () => presenter };
    return { shown, display, ended: () => ended };
  }

  test("adds up its parts, and counts retries since its start", async () => {
    const { shown, display } = watched();
    const retries = { count: 7 };
    using meter = createMeter({ command: "put", noun: "file" }, display, retries);
    const [one, two] = [meter.part(), meter.part()];
    one({ bytes: 10, chunks: 1 });
    two({ bytes: 5, chunks: 1 });
    one({ bytes: 30, chunks: 2 });
    meter.itemDone();
    meter.setTotals({ totalBytes: 100 });
    retries.count += 2;
    while (shown.length < 2) await Bun.sleep(1);
    expect(shown.at(-1)).toMatchObject({
      bytes: 35,
      chunks: 3,
      items: 1,
      totalBytes: 100,
      retries: 2,
    });
  });

  test("displays nothing for short tasks, and nothing after the end", async () => {
    const { shown, display, ended } = watched();
    createMeter({ command: "put" }, display, { count: 0 })[Symbol.dispose]();
    const meter = createMeter({ command: "put" }, display, { count: 0 });
    expect(meter.finish()).toBeUndefined();
    await Bun.sleep(30);
    expect([shown.length, ended()]).toEqual([0, 0]);
    const longer = createMeter({ command: "put" }, display, { count: 0 });
    while (shown.length === 0) await Bun.sleep(1);
    expect(longer.finish()).toMatch(/^0 bytes in 0 s, 0 bytes\/s$/u);
    longer[Symbol.dispose]();
    const then = shown.length;
    await Bun.sleep(30);
    expect([shown.length, ended()]).toEqual([then, 1]);
  });

  test("measures totals only while progress is displayed", async () => {
    let stopped = false;
    let begun = 0;
    const measure = async (signal: AbortSignal) => {
      begun += 1;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      stopped = true;
      return {};
    };
    createMeter({ command: "put", measure }, undefined, { count: 0 })[Symbol.dispose]();
    const { shown, display } = watched();
    const meter = createMeter({ command: "put", measure }, display, { count: 0 });
    while (shown.length === 0) await Bun.sleep(1);
    meter[Symbol.dispose]();
    await Bun.sleep(1);
    expect([begun, stopped]).toEqual([1, true]);
    const failing = async () => Promise.reject(new Error("no listing"));
    const other = watched();
    using going = createMeter({ command: "put", measure: failing }, other.display, { count: 0 });
    going.part()({ bytes: 1 });
    while (other.shown.length < 2) await Bun.sleep(1);
    expect(other.shown.at(-1)).toMatchObject({ bytes: 1 });
  });
});

test("prints output above the bar", async () => {
  const seen: string[] = [];
  const screen = createScreen();
  screen.setLine({ hide: () => seen.push("hide"), show: () => seen.push("show") });
  await Promise.all([
    screen.above(async () => {
      seen.push("a");
      await Bun.sleep(5);
      expect(screen.busy).toBe(true);
    }),
    screen.above(async () => void seen.push("b")),
  ]);
  expect(seen).toEqual(["hide", "a", "b", "show"]);
  screen.setLine(undefined);
  await screen.above(async () => void seen.push("c"));
  expect(seen.slice(4)).toEqual(["hide", "c"]);
});

const workspace = await createWorkspace();
const { path } = workspace;

/** Slow content, lasting the given tenths of a second. */
const slowly = (tenths: number) =>
  `{ for i in $(seq ${tenths}); do head -c 200000 /dev/zero; sleep 0.1; done; }`;

async function shell(script: string, env: Record<string, string> = {}) {
  const child = Bun.spawn(["sh", "-c", script, process.execPath, MAIN], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, ...env }),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  checkManners({ stdout, stderr });
  return { stdout, stderr, code };
}

describe("without a terminal", () => {
  test.each<[flags: string, stderr: RegExp]>([
    ["", /^$/u],
    ["--quiet", /^$/u],
    ["-q --progress", /^$/u],
    ["--no-progress --json", /^$/u],
    [
      "--progress",
      /^(idk: put -: [\d.]+ \w+(, \d+ chunks)?(, [\d.]+ \w+\/s)?\n)+idk: stored 2\.9 MiB in \d s, .*\n$/u,
    ],
    [
      "--json --progress",
      /^(\{"progress":\{"command":"put","seconds":[\d.]+,"bytes":\d+,"chunks":\d+,"retries":0,"bytesPerSecond":\d+\}\}\n)+$/u,
    ],
    ["--json", /^(\{"progress":\{.*\}\}\n)+$/u],
  ])("with %p", async (flags, expected) => {
    const { stdout, stderr, code } = await shell(
      `${slowly(flags === "--json" ? 30 : 15)} | "$0" "$1" put - ${flags} --chunk-size 256K`,
    );
    expect([code, stderr]).toEqual([0, expect.stringMatching(expected)]);
    // Only results: one line.
    expect(stdout.split("\n")).toHaveLength(2);
  });

  test("--quiet prints errors", async () => {
    mkdirSync(path("empty"), { recursive: true });
    workspace.write("good", "good");
    const result = await workspace.idk(["put", "good", "missing", "empty", "--quiet"]);
    expect(result.stderr).toBe(
      "idk: cannot read missing: no such file or folder\nidk: 1 of 2 files failed\n",
    );
    const verified = await workspace.ok(["verify", "--quiet"]);
    expect([verified.stdout, verified.stderr]).toEqual(["", ""]);
  });

  test("short tasks print no progress", async () => {
    workspace.write("some", noise(MIB));
    expect((await workspace.ok(["put", "some"])).stderr).toBe("");
  });
});

/** A shell script, with Bun and the command as $0 and $1. */
const run = (steps: readonly Step[], script: string, env: Record<string, string> = {}) =>
  atTerminal(steps, ["sh", "-c", script, process.execPath, MAIN], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, TERM: "xterm", LANG: "C.UTF-8", ...env }),
  });

/** The bar as drawn. */
const LINE = String.raw`put -  [\d.]+ \wiB  `;

describe("on a terminal", () => {
  const put = `${slowly(15)} | "$0" "$1" put - --chunk-size 256K`;

  test("draws a bar, erases it and prints a summary", async () => {
    const { screen, code } = await run([], put);
    expect(code).toBe(0);
    expect(screen).toMatch(new RegExp(`${LINE}.*/s  \\d+ chunks\r\n`, "u"));
    // The bar is erased, then the result and the note are printed.
    expect(screen).toMatch(
      /\u001b\[2K\u001b\[1A\u001b\[2K\u001b\[G\u001b\[\?2026l[^\u001b]*[0-9a-f]{64}\r\n.*idk: stored 2\.9 MiB in \d s, [\d.]+ \wiB\/s\r\n$/su,
    );
  });

  test("fits the width, even when it changes", async () => {
    const { screen, code } = await run(
      [
        { shown: "chunks\r\n", columns: 30 },
        { shown: String.raw`put[ -]+[\d.]+ \wiB  [\d.]+ \wiB/s\r\n`, columns: 120 },
      ],
      put,
    );
    expect(code).toBe(0);
    // In this order: wide, narrow, wide.
    expect(screen).toMatch(/chunks\r\n.*put[ -]+[\d.]+ \wiB {2}[\d.]+ \wiB\/s\r\n.*chunks\r\n/su);
    // A wrapped bar is erased completely.
    expect(screen).toContain("\u001b[2A\r\u001b[J");
  });

  test("Ctrl-C erases the bar and prints what is kept", async () => {
    workspace.write("film", noise(192 * MIB, 3));
    const args = `film --chunk-size 256K --compress zstd --workers 0`;
    const { screen, code } = await run(
      [{ shown: "━.*chunks\r\n", type: "\u0003" }],
      `exec "$0" "$1" put ${args}`,
      { XDG_CACHE_HOME: path("cache"), XDG_STATE_HOME: path("state") },
    );
    expect(code).toBe(130);
    expect(screen).toMatch(
      /\u001b\[\?2026lidk: \d+ chunks are stored: run the same command again to resume\r\nidk: interrupted\r\n$/u,
    );
    expect(screen).toMatch(/put film  \u001b\[36m━+\u001b\[39m─+  \d+ %  /u);
  });

  test.each<[what: string, env: Record<string, string>, flags: string, pattern: RegExp]>([
    ["no colours with NO_COLOR", { NO_COLOR: "1" }, "", /put -  [^\u001b]*\r\n/u],
    ["nothing with --quiet", {}, "--quiet", /^[0-9a-f]{64}\r\n$/u],
    ["nothing with --no-progress", {}, "--no-progress", /^[0-9a-f]{64}\r\n$/u],
    ["no line that moves on a dumb one", { TERM: "dumb" }, "", /^[0-9a-f]{64}\r\n$/u],
  ])("%s", async (_, env, flags, pattern) => {
    const { screen } = await run([], `${put} ${flags}`, env);
    expect(screen).toMatch(pattern);
    expect(screen).not.toContain("\u001b[36m");
  });

  test("prints a table of files", async () => {
    mkdirSync(path("folder/sub"), { recursive: true });
    workspace.write("folder/a", "a");
    workspace.write("folder/sub/b", noise(3 * MIB));
    const { screen } = await run([], `exec "$0" "$1" put folder`);
    expect(screen).toMatch(/^ADDRESS {59}(?: {2})?\s+SIZE {2}FILE\r\n/u);
    expect(screen).toMatch(/^[0-9a-f]{64} {5}1 bytes {2}folder\/a\r$/mu);
    expect(screen).toMatch(/^[0-9a-f]{64} {5}3\.0 MiB {2}folder\/sub\/b\r$/mu);
  });
});
