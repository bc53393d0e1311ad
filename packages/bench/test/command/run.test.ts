import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { formatIdentity, generateIdentity } from "@idk/storage";
import type { Baseline } from "../../src/baseline/baseline.ts";
import { Interruption } from "../../src/command/usage.ts";
import { suiteIdentity } from "../../src/harness/identity.ts";
import { reportSchema } from "../../src/report/report.ts";
import type { Suite } from "../../src/suite.ts";
import { target } from "../report/fixtures.ts";
import { bench, fakeSuite } from "./fake-context.ts";

/** How long a suite took. */
const TIME = /[\d.]+ (?:n|µ|m)?s(?=\n)/gu;

const folder = mkdtempSync(join(tmpdir(), "idk-bench-"));
const path = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(path(name), "utf8");
afterEach(() => {
  for (const name of readdirSync(folder)) rmSync(path(name));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("a run", () => {
  test("runs all suites in order and prints a table of each", async () => {
    const { code, stdout, stderr } = await bench([]);
    expect(code).toBe(0);
    expect(stdout.indexOf("one  What one takes")).toBeGreaterThan(0);
    expect(stdout.indexOf("two  What two takes")).toBeGreaterThan(stdout.indexOf("one  What"));
    expect(stdout).toContain("Benchmarks passed: 2 of 2 targets met");
    expect(stderr.replaceAll(TIME, "TIME")).toBe(
      "[1/2] one: What one takes\n[1/2] one: completed in TIME\n" +
        "[2/2] two: What two takes\n[2/2] two: completed in TIME\n",
    );
  });

  test("runs each named suite once", async () => {
    const suites = [fakeSuite("one"), fakeSuite("two"), fakeSuite("three")];
    expect((await bench(["three", "one", "three"], { suites })).code).toBe(0);
    expect(suites.map(({ contexts }) => contexts.length)).toEqual([1, 0, 1]);
  });

  test("passes settings to suites", async () => {
    const suite = fakeSuite("one");
    await bench(["one", "--quick", "--size", "64K,1MB", "--iterations", "7", "--seed", "9"], {
      suites: [suite],
    });
    expect(suite.contexts[0]).toMatchObject({
      quick: true,
      sizes: [65_536, 1_000_000],
      iterations: 7,
      seed: 9,
    });
    expect(suite.contexts[0]!.store).toBeUndefined();
  });

  test("tells suites how far away the store is", async () => {
    const suite = fakeSuite("one");
    await bench(["one", "--rtt", "50", "--rate", "100mbit"], { suites: [suite] });
    expect(suite.contexts[0]!).toMatchObject({ rtt: 50, rate: 12.5e6 });
  });

  test("prints details of suites with --verbose", async () => {
    expect((await bench(["one", "--verbose", "true"])).stderr).toContain("[1/1] one: half of it\n");
    expect((await bench(["--verbose", "one"])).stderr).toContain("half of it\n");
    expect((await bench(["one", "--verbose", "false"])).stderr).not.toContain("half of it");
  });

  test("redraws one progress line on a terminal", async () => {
    const { stderr, stdout } = await bench(["one"], { isTTY: true });
    const lines = stderr.replaceAll(TIME, "TIME").split("\r\u001b[K");
    expect(lines).toEqual([
      "",
      "[1/1] one: What one takes",
      "[1/1] one: half of it",
      "[1/1] one: completed in TIME\n",
    ]);
    expect(stdout).toContain("\u001b[");
    expect((await bench(["one"], { isTTY: true, env: { NO_COLOR: "1" } })).stdout).not.toContain(
      "\u001b[",
    );
  });

  test("exits with 1 after a missed target, and names it last", async () => {
    const suites = [fakeSuite("one", { value: 2 }), fakeSuite("two")];
    const { code, stdout, stderr } = await bench([], { suites });
    expect(code).toBe(1);
    expect(stdout).toEndWith(
      "Benchmarks failed: 1 of 2 targets met, 1 missed\n" +
        "FAILED one: put by bound missed its target: 2.00, ≤ 1.10\n\n",
    );
    expect(stderr).toMatch(/\[1\/2\] one: completed in [^,]+, 1 target MISSED\n/u);
    expect(stderr).toMatch(/\[again\] one: completed in [^,]+, 1 target MISSED\n$/u);
    expect(suites.map(({ contexts }) => contexts.length)).toEqual([2, 1]);
  });

  test("measures a suite again that missed a time, when the others are done", async () => {
    const order: string[] = [];
    const suiteOf = (name: string, values: readonly number[]) =>
      fakeSuite(name, {
        run: async () => {
          order.push(name);
          const taken = order.filter((one) => one === name).length;
          return { targets: [target("put", values[taken - 1]!, 1.1)] };
        },
      });
    const suites = [suiteOf("one", [2, 1]), suiteOf("two", [1])];
    const { code, stdout } = await bench(["--json", path("report")], { suites });
    expect([code, order]).toEqual([0, ["one", "two", "one"]]);
    expect(stdout).toEndWith("Benchmarks passed: 2 of 2 targets met\n\n");
    const [one] = reportSchema.parse(JSON.parse(read("report"))).suites;
    expect(one!.notes).toEqual(["put: measured twice, 2.00, missed; then 1.00, met; ≤ 1.10"]);
  });

  test("measures a count, and a suite that takes minutes, only once", async () => {
    const missed = target("put", 2, 1.1);
    const slow = fakeSuite("slow", { slow: true, targets: [missed] });
    const exact = fakeSuite("exact", { targets: [{ ...missed, kind: "exact" }] });
    expect((await bench(["slow", "exact"], { suites: [slow, exact] })).code).toBe(1);
    expect([slow, exact].map(({ contexts }) => contexts.length)).toEqual([1, 1]);
  });

  test("shows a missed target in a quick run, but exits with 0", async () => {
    const one = fakeSuite("one", { value: 2 });
    const { code, stdout } = await bench(["--quick"], { suites: [one] });
    expect(one.contexts.length).toBe(1);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/put by bound .*MISSED/u)]);
    expect(stdout).toContain("quick run: few rounds");
  });

  test("continues with the other suites after one throws", async () => {
    const broken = fakeSuite("one", { run: () => Promise.reject(new Error("HTTP\n 500")) });
    const two = fakeSuite("two");
    const { code, stdout } = await bench(["--json", path("report")], { suites: [broken, two] });
    expect([code, two.contexts.length]).toEqual([1, 1]);
    expect(stdout).toContain("HTTP; 500");
    expect(JSON.parse(read("report"))).toMatchObject({
      suites: [
        { suite: "one", status: "failed", reason: "HTTP; 500", measurements: [] },
        { suite: "two", status: "completed" },
      ],
    });
  });

  test("fails a suite with two measurements of the same name", async () => {
    const two = fakeSuite("one");
    const run: typeof two.run = async (context) => {
      const result = await two.run(context);
      return { ...result, measurements: [...result.measurements!, ...result.measurements!] };
    };
    const { code, stdout } = await bench([], { suites: [{ ...two, run }] });
    expect(code).toBe(1);
    expect(stdout).toContain('two results have the name "put"');
  });

  test("stops when interrupted, and writes nothing", async () => {
    const controller = new AbortController();
    const two = fakeSuite("two");
    const one = fakeSuite("one", {
      run: async ({ signal }) => {
        controller.abort(new Interruption(130));
        signal.throwIfAborted();
        throw new Error("unreachable");
      },
    });
    const { code, stderr } = await bench(["--json", path("report")], {
      suites: [one, two],
      signal: controller.signal,
    });
    expect(code).toBe(130);
    expect(stderr).toEndWith("idk bench: interrupted\n");
    expect([two.contexts.length, readdirSync(folder)]).toEqual([0, []]);
  });
});

describe("output files", () => {
  test("contain the same report", async () => {
    const args = ["--json", path("json"), "--markdown", path("md"), "--html", path("html")];
    expect((await bench(args)).code).toBe(0);
    const report = reportSchema.parse(JSON.parse(read("json")));
    expect(report.suites.map(({ suite }) => suite)).toEqual(["one", "two"]);
    expect(read("md")).toStartWith("## ✅ Benchmarks passed: 2 of 2 targets met\n");
    expect(read("html")).toMatch(/^<!doctype html>.*What two takes/isu);
  });

  test("- writes to standard output, without tables", async () => {
    const { stdout } = await bench(["--json", "-"]);
    expect(reportSchema.safeParse(JSON.parse(stdout)).success).toBe(true);
  });

  test("are checked before anything is measured", async () => {
    const suite = fakeSuite("one");
    for (const [file, message] of [
      [folder, "it is a folder"],
      [path("no/such"), "its folder does not exist"],
    ] as const) {
      const { code, stderr } = await bench(["--html", file], { suites: [suite] });
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
    expect(suite.contexts).toEqual([]);
  });
});

describe("suites that need an object store", () => {
  const suites = () => [fakeSuite("one"), fakeSuite("upload", { needsObjectStore: true })];

  test("are skipped with a reason if there is no store", async () => {
    const { code, stdout, stderr } = await bench([], { suites: suites() });
    expect(code).toBe(0);
    expect(stderr).toContain(
      "[2/2] upload: skipped: no object store: give --store URL, or set MINIO",
    );
    expect(stdout).toEndWith(
      "warning upload skipped: no object store: give --store URL, or set MINIO_ENDPOINT, MINIO_ACCESS_KEY and MINIO_SECRET_KEY (`script/minio run idk bench` does so)\n\n",
    );
  });

  test("fail the run in CI if skipped", async () => {
    expect((await bench([], { suites: suites(), env: { CI: "true" } })).code).toBe(1);
    expect((await bench(["one"], { suites: suites(), env: { CI: "true" } })).code).toBe(0);
  });

  test("report a missing variable", async () => {
    const env = { MINIO_ENDPOINT: "http://127.0.0.1:9", MINIO_ACCESS_KEY: "me" };
    const { stdout } = await bench([], { suites: suites(), env });
    expect(stdout).toContain("MINIO_ENDPOINT is set, but not MINIO_SECRET_KEY");
  });

  test("fail if the given store does not respond", async () => {
    const env = { MINIO_ACCESS_KEY: "me", MINIO_SECRET_KEY: "sesame" };
    const args = ["--store", "minio://127.0.0.1:9/bucket"];
    const { code, stdout, stderr } = await bench(args, { suites: suites(), env });
    expect(code).toBe(1);
    expect(stdout).toContain("FAILED upload");
    expect(stdout).toContain("http://127.0.0.1:9 cannot be used (bucket bucket)");
    expect(stdout + stderr).not.toContain("sesame");
  });
});

describe("variables in a file", () => {
  const write = (text: string, mode = 0o600): string[] => {
    writeFileSync(path("env"), text);
    chmodSync(path("env"), mode);
    return ["--env-file", path("env")];
  };
  const envOf = async (text: string, env: Record<string, string> = {}) => {
    const suite = fakeSuite("one");
    const ran = await bench(write(text), { suites: [suite], env });
    expect(ran).toMatchObject({ code: 0 });
    expect(`${ran.stdout}${ran.stderr}`).not.toContain("sesame");
    return suite.contexts[0]!.env;
  };

  test("reach suites, and variables that are set win", async () => {
    const text = [
      "# a comment",
      "",
      "PLAIN=sesame",
      'export QUOTED="sesame # street" # a comment',
      "  SINGLE = 'sesame=1'\r",
      "EMPTY=",
      "MINE=sesame",
    ].join("\n");
    expect(await envOf(text, { MINE: "stays" })).toEqual({
      PLAIN: "sesame",
      QUOTED: "sesame # street",
      SINGLE: "sesame=1",
      EMPTY: "",
      MINE: "stays",
    });
  });

  test("are read before the object store is chosen", async () => {
    const args = write("MINIO_ENDPOINT=http://127.0.0.1:9\nMINIO_ACCESS_KEY=me\n");
    const suites = [fakeSuite("upload", { needsObjectStore: true })];
    const { stdout } = await bench(args, { suites });
    expect(stdout).toContain("MINIO_ENDPOINT is set, but not MINIO_SECRET_KEY");
  });

  test("no file is read unasked", async () => {
    const [suite, before] = [fakeSuite("one"), process.cwd()];
    writeFileSync(path(".env"), "PLAIN=sesame\n");
    process.chdir(folder);
    try {
      await bench([], { suites: [suite] });
    } finally {
      process.chdir(before);
    }
    expect(suite.contexts[0]!.env).toEqual({});
  });

  test.each(["sesame", "A B=sesame", "=sesame", 'A="sesame', "1A=sesame", "A='sesame' b"])(
    "a malformed line is named by its number, not by its text: %p",
    async (line) => {
      const suite = fakeSuite("one");
      const { code, stderr } = await bench(write(`A=1\n\n${line}\n`), { suites: [suite] });
      expect([code, suite.contexts]).toEqual([2, []]);
      expect(stderr).toBe(`idk bench: line 3 of ${path("env")} is not NAME=VALUE\n`);
    },
  );

  test("a file that others can write, or that is none, is rejected", async () => {
    for (const [args, message] of [
      [write("A=1", 0o620), "other users can change it: run chmod go-w"],
      [["--env-file", path("no")], "ENOENT"],
      [["--env-file", folder], "EISDIR"],
    ] as const) {
      const { code, stderr } = await bench(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  test("TEST_KEY must be an identity, and is not printed", async () => {
    const { code, stderr } = await bench(write("TEST_KEY=sesame"));
    expect(code).toBe(2);
    expect(stderr).toBe("idk bench: TEST_KEY is not an identity: `idk keygen` makes one\n");
    const identity = await generateIdentity();
    const env = await envOf(`TEST_KEY=${formatIdentity(identity)}`);
    expect((await suiteIdentity(env)).recipient).toEqual(identity.recipient);
    expect((await suiteIdentity({})).recipient).not.toEqual(identity.recipient);
  });
});

describe("the baseline", () => {
  const baseline = (): Baseline => JSON.parse(read("base")) as Baseline;
  const update = (reason: string, suites: readonly Suite[] = [fakeSuite("one")]) =>
    bench(["--update-baseline", reason, "--baseline", path("base")], { suites });
  const compare = (suites: readonly Suite[], args: readonly string[] = []) =>
    bench(["--baseline", path("base"), ...args], { suites });

  test("is written with the reason, and an equal run meets it", async () => {
    const { code, stdout } = await update(" first ");
    expect([code, stdout]).toEqual([0, expect.stringContaining("the baseline was updated")]);
    await update("second");
    expect(baseline().updates.map(({ reason }) => reason)).toEqual(["first", "second"]);
    expect(baseline().suites).toEqual({
      one: { targets: { "put by bound": 1 }, counters: { "PUT requests": 7 } },
    });
    const same = await compare([fakeSuite("one")]);
    expect(same).toMatchObject({ code: 0, stdout: expect.stringContaining("2 of 2 targets met") });
  });

  test("a run with more or less of a counter fails", async () => {
    await update("first");
    for (const counter of [8, 6]) {
      const { code, stdout } = await compare([fakeSuite("one", { counter })]);
      expect(code).toBe(1);
      expect(stdout).toEndWith(
        `FAILED one: PUT requests, against the baseline missed its target; if the change is meant, update the baseline with its reason: ${counter}, = 7\n\n`,
      );
    }
  });

  test("of another machine is compared in part, which the run says", async () => {
    await update("first");
    const machine = { processor: "Abacus 10", cores: 4 };
    writeFileSync(path("base"), JSON.stringify({ ...baseline(), machine }));
    const args = ["--markdown", path("md"), "--html", path("html")];
    const { code, stdout } = await compare([fakeSuite("one")], args);
    const note = "not compared with the baseline, which is of another machine (Abacus 10, 4 cores)";
    expect(code).toBe(0);
    expect(stdout.split(note)).toHaveLength(3);
    expect(stdout).toContain("Benchmarks passed with warnings: 2 of 2 targets met");
    for (const name of ["md", "html"]) expect(read(name)).toContain("another machine");
  });

  test("is not written by a run that missed a target", async () => {
    const { code, stderr } = await update("first", [fakeSuite("one", { value: 2 })]);
    expect([code, readdirSync(folder)]).toEqual([1, []]);
    expect(stderr).toContain("was not updated: one: put by bound missed its target: 2.00, ≤ 1.10");
  });

  test("a target that disappears fails a run with defaults, and no other", async () => {
    await update("first");
    const without = (): Suite[] => [fakeSuite("one", { targets: [] })];
    const { code, stdout } = await compare(without());
    expect([code, stdout]).toEqual([1, expect.stringContaining("was not measured")]);
    expect((await compare(without(), ["--size", "1MB"])).code).toBe(0);
  });

  test("suites that do not run stay in it", async () => {
    await update("first", [fakeSuite("one"), fakeSuite("two")]);
    await update("second", [fakeSuite("two", { counter: 9 })]);
    expect(baseline().suites["one"]!.counters).toEqual({ "PUT requests": 7 });
    expect(baseline().suites["two"]!.counters).toEqual({ "PUT requests": 9 });
  });

  test("is not written by a run with a failed suite", async () => {
    const { code, stderr } = await update("first", [
      fakeSuite("one", { run: () => Promise.reject(new Error("no")) }),
    ]);
    expect([code, readdirSync(folder)]).toEqual([1, []]);
    expect(stderr).toContain("was not updated: one failed: no");
  });

  test("one that cannot be read is rejected before anything is measured", async () => {
    const suite = fakeSuite("one");
    expect(await compare([suite])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot read the baseline"),
    });
    writeFileSync(path("base"), '{"schema":"idk-bench-baseline/1"}');
    expect(await compare([suite])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not a baseline"),
    });
    expect(suite.contexts).toEqual([]);
  });
});
