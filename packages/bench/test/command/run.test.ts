import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { Interruption } from "../../src/command/usage.ts";
import { reportSchema } from "../../src/report/schema.ts";
import { bench, fakeSuite } from "./fake-context.ts";

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
    expect(stdout).toContain("2 suites, 2 of 2 targets met");
    expect(stderr).toBe(
      "[1/2] one: What one takes\n[1/2] one: completed in 12.3 s\n" +
        "[2/2] two: What two takes\n[2/2] two: completed in 12.3 s\n",
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
    expect(suite.contexts[0]).not.toHaveProperty("store");
  });

  test("prints details of suites with --verbose", async () => {
    expect((await bench(["one", "--verbose", "true"])).stderr).toContain("[1/1] one: half of it\n");
    expect((await bench(["--verbose", "one"])).stderr).toContain("half of it\n");
    expect((await bench(["one", "--verbose", "false"])).stderr).not.toContain("half of it");
  });

  test("redraws one progress line on a terminal", async () => {
    const { stderr, stdout } = await bench(["one"], { isTTY: true });
    const lines = stderr.split("\r\u001b[K");
    expect(lines).toEqual([
      "",
      "[1/1] one: What one takes",
      "[1/1] one: half of it",
      "[1/1] one: completed in 12.3 s\n",
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
    expect(stdout).toEndWith("2 suites, 1 of 2 targets met\nMISSED one: put by bound\n\n");
    expect(stderr).toContain("[1/2] one: completed in 12.3 s, 1 target MISSED\n");
  });

  test("shows a missed target in a quick run, but exits with 0", async () => {
    const { code, stdout } = await bench(["--quick"], { suites: [fakeSuite("one", { value: 2 })] });
    expect([code, stdout]).toEqual([0, expect.stringContaining("MISSED one: put by bound")]);
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
      return { ...result, measurements: [...result.measurements, ...result.measurements] };
    };
    const { code, stdout } = await bench([], { suites: [{ ...two, run }] });
    expect(code).toBe(1);
    expect(stdout).toContain('two measurements have the name "put"');
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
    expect(read("md")).toStartWith("## Benchmarks: 2 of 2 targets met\n");
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

describe("the calibration", () => {
  test("is the best of several, before and after each suite", async () => {
    let times = 0;
    const suite = fakeSuite("one");
    const run: typeof suite.run = async (context) => {
      expect(times).toBe(5);
      return suite.run(context);
    };
    const { stdout } = await bench(["--json", "-"], {
      suites: [{ ...suite, run }],
      // Most are slow because of other load.
      calibrate: async () => {
        times += 1;
        return { sha256: times % 4 === 0 ? 500e6 : times * 1e6, secretbox: 600e6, memoryCopy: 7e9 };
      },
    });
    expect(times).toBe(10);
    expect(reportSchema.parse(JSON.parse(stdout)).calibration).toEqual({
      sha256: 500e6,
      secretbox: 600e6,
      memoryCopy: 7e9,
    });
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
    expect(stdout).toEndWith("skipped upload\n\n");
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

describe("baselines", () => {
  const save = (seconds = 0.001, requests = 1) =>
    bench(["--save-baseline", path("base")], { suites: [fakeSuite("one", { seconds, requests })] });
  const compare = (seconds: number, args: string[] = [], requests = 1) =>
    bench(["--baseline", path("base"), ...args], {
      suites: [fakeSuite("one", { seconds, requests })],
    });

  test("an equal run passes, a slower one fails unless tolerated", async () => {
    expect((await save()).code).toBe(0);
    expect(await compare(0.001)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 regressions, 0 improvements, 2 unchanged"),
    });
    const slower = await compare(0.0013);
    expect(slower.code).toBe(1);
    expect(slower.stdout).toMatch(/one +put +time.* \+30\.0 % .* SLOWER/u);
    expect((await compare(0.0013, ["--tolerance", "40"])).code).toBe(0);
    const less = await compare(0.001, ["--tolerance", "40"], 2);
    expect(less.code).toBe(1);
    expect(less.stdout).toMatch(/requests +1 +2 .* MORE/u);
  });

  test("a suite that is slower runs again, and passes if it is not slower twice", async () => {
    await save();
    const [hiccup, slow] = [fakeSuite("one", { seconds: 0.002 }), fakeSuite("one")];
    const run: typeof slow.run = (context) =>
      (hiccup.contexts.length === 0 ? hiccup : slow).run(context);
    const { code, stdout, stderr } = await bench(["--baseline", path("base")], {
      suites: [{ ...slow, run }],
    });
    expect(stderr).toContain("slower than the baseline, running again: one\n");
    expect([hiccup.contexts.length, slow.contexts.length, code]).toEqual([1, 1, 0]);
    expect(stdout).toContain("0 regressions, 0 improvements, 2 unchanged");
  });

  test("only slower suites run again", async () => {
    await bench(["--save-baseline", path("base")]);
    const suites = [fakeSuite("one"), fakeSuite("two", { seconds: 0.002 })];
    expect((await bench(["--baseline", path("base")], { suites })).code).toBe(1);
    expect(suites.map(({ contexts }) => contexts.length)).toEqual([1, 2]);
  });

  test("an improvement is shown and passes", async () => {
    await save();
    const { code, stdout } = await compare(0.0005);
    expect(code).toBe(0);
    expect(stdout).toMatch(/−50\.0 % .* faster/u);
  });

  test("some suites can be compared with a baseline of all", async () => {
    await bench(["--save-baseline", path("base")]);
    expect((await bench(["two", "--baseline", path("base")])).code).toBe(0);
  });

  test("a baseline that does not match is rejected before anything is measured", async () => {
    const suite = fakeSuite("other");
    const rejection = async (): Promise<string> => {
      const { code, stderr } = await bench(["--baseline", path("base")], { suites: [suite] });
      expect(code).toBe(2);
      return stderr;
    };
    expect(await rejection()).toContain("cannot read the baseline");
    writeFileSync(path("base"), '{"schema":"idk-bench/1"}');
    expect(await rejection()).toContain('has the schema "idk-bench/1"');
    await save();
    expect(await rejection()).toContain("has no results for other, only for one");
    expect(suite.contexts).toEqual([]);
  });

  test("a run with other sizes is rejected, but its report is written", async () => {
    await bench(["--save-baseline", path("base")], { suites: [fakeSuite("one")] });
    const saved = JSON.parse(read("base")) as { suites: { measurements: { name: string }[] }[] };
    saved.suites[0]!.measurements[0]!.name = "put 8 MB";
    writeFileSync(path("base"), JSON.stringify(saved));
    const { code, stderr } = await compare(0.001, ["--json", path("json")]);
    expect(code).toBe(2);
    expect(stderr).toContain('it has "put 8 MB" of 1000000 bytes, which this run did not measure');
    expect(JSON.parse(read("json"))).toMatchObject({ suites: [{ status: "completed" }] });
  });

  test("a failed run is not saved as a baseline", async () => {
    const suites = [fakeSuite("one", { run: () => Promise.reject(new Error("no")) })];
    const { code, stderr } = await bench(["--save-baseline", path("base")], { suites });
    expect(code).toBe(1);
    expect(stderr).toContain("no baseline was saved, because these suites failed: one");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("quick runs cannot be saved or compared", async () => {
    for (const flag of ["--baseline", "--save-baseline"]) {
      expect(await bench(["--quick", flag, path("base")])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--quick is too imprecise for a baseline"),
      });
    }
  });
});
