import { describe, expect, test } from "bun:test";
import { parseMegabytes, parseRate, parseSizes } from "../../src/command/flags.ts";
import type { SuiteOption } from "../../src/suite.ts";
import { suites as allSuites } from "../../src/suites.ts";
import { bench, fakeSuite } from "./fake-context.ts";

const RETRIES: SuiteOption = { name: "retries", kind: "number", description: "retries" };
const DOWNLOAD: SuiteOption = { name: "download", kind: "boolean", description: "both ways" };
const COUNT: SuiteOption = { name: "count", kind: "number", description: "objects" };
const LABEL: SuiteOption = { name: "label", kind: "text", description: "a word" };

const suites = () => [
  fakeSuite("plain"),
  fakeSuite("upload", { options: [RETRIES, DOWNLOAD, LABEL] }),
  fakeSuite("other", { options: [COUNT], needsObjectStore: true, slow: true }),
];

describe("help and lists", () => {
  test("--help lists options, suite options, stores and exit codes", async () => {
    for (const flag of ["--help", "-h"]) {
      const { code, stdout, stderr } = await bench([flag], { suites: suites() });
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toStartWith("Usage: idk bench [options] [suite...]");
      for (const text of [
        "--sizeMB <n>",
        "Options of single suites:",
        "Exit codes:",
        "minio://",
        "b2://",
        "TEST_KEY",
        "compare",
        "--rtt <n>",
        "--rate <rate>",
        "--strict",
        "--all",
        "--baseline <file>",
        "--update-baseline <reason>",
        "--env-file <file>",
      ])
        expect(stdout).toContain(text);
      expect(stdout).toMatch(/--retries <n> +upload: retries/u);
      expect(stdout).toMatch(/--download \[bool\] +upload: both ways/u);
    }
  });

  test("--list shows suites, what they need and their options", async () => {
    const { code, stdout } = await bench(["--list"], { suites: suites() });
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "  suite   measures           needs, options
        plain   What plain takes
        upload  What upload takes  --retries, --download, --label
        other   What other takes   an object store, minutes, --count
      "
    `);
  });

  test("--json-schema prints a JSON Schema", async () => {
    const { code, stdout } = await bench(["--json-schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty("properties.suites");
  });

  test("compare has its own help", async () => {
    const { code, stdout } = await bench(["compare", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toStartWith("Usage: idk bench compare [options] <base> <head>");
    expect(stdout).toContain("put-memory");
  });
});

describe("suite options", () => {
  test("reach suites with their types", async () => {
    const all = suites();
    const args = ["plain", "upload", "--retries", "5", "--download", "true", "--label", "x"];
    expect((await bench(args, { suites: all })).code).toBe(0);
    expect(all[1]!.contexts[0]!.options).toEqual({ retries: 5, download: true, label: "x" });
  });

  test("combine with common options", async () => {
    const [upload] = suites().slice(1);
    const args = "upload --sizeMB 8 --iterations 50 --download true --prefix p --retries 5";
    const { code, stderr } = await bench([...args.split(" "), "--verbose", "true"], {
      suites: [upload!],
    });
    expect([code, stderr]).toEqual([0, expect.stringContaining("half of it")]);
    expect(upload!.contexts[0]).toMatchObject({
      sizes: [8_000_000],
      iterations: 50,
      options: { download: true, retries: 5 },
    });
  });

  test("slow suites run if they are named, or with --all", async () => {
    for (const [args, runs] of [
      [[], [1, 1, 0]],
      [["--all"], [1, 1, 1]],
      [["other"], [0, 0, 1]],
      [
        ["--all", "false"],
        [1, 1, 0],
      ],
    ] as const) {
      const all = [fakeSuite("plain"), fakeSuite("upload"), fakeSuite("other", { slow: true })];
      await bench(args, { suites: all });
      expect(all.map(({ contexts }) => contexts.length)).toEqual([...runs]);
    }
  });

  test("a boolean option without a value is true, in any position", async () => {
    const [plain, upload] = suites();
    await bench(["--download", "upload", "--quick"], { suites: [plain!, upload!] });
    expect(upload!.contexts[0]).toMatchObject({ options: { download: true }, quick: true });
    expect(plain!.contexts).toEqual([]);
  });
});

test("no two suites have an option of the same name", () => {
  const names = allSuites.flatMap(({ options = [] }) => options.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});

describe("command line errors", () => {
  test.each<[args: string[], message: string]>([
    [["hash"], 'there is no suite "hash"; there are plain, upload, other'],
    [["--jsn", "x"], "unknown option '--jsn' (did you mean --json?)"],
    [["--json"], "argument missing"],
    [["--json", ""], "empty name"],
    [["--json", "x", "--html", "x"], "two outputs name the same file"],
    [["--quick", "--baseline", "x"], "--quick is too imprecise for a baseline"],
    [["--quick", "--update-baseline", "x"], "--quick is too imprecise for a baseline"],
    [["--update-baseline", " "], "--update-baseline takes the reason"],
    [["--update-baseline", "x", "--baseline", "none"], "--update-baseline takes the reason"],
    [["--update-baseline", "x", "--size", "1K"], "--update-baseline takes no sizes"],
    [["--update-baseline", "x", "--rtt", "20"], "--update-baseline takes no sizes"],
    [["other", "--retries", "5"], "--retries does not apply to other"],
    [["upload", "--update-baseline", "x", "--retries", "1"], "--update-baseline takes no sizes"],
    [["--rtt", "0"], "--rtt must be a whole number, 1 or greater"],
    [["--rate", "100"], "--rate must be from 8kbit to 100gbit a second, such as 100mbit"],
    [["--rate", "1kbit"], "--rate must be from 8kbit"],
    [["--update-baseline", "x", "--rate", "1mbit"], "--update-baseline takes no sizes"],
    [["--strict=x"], "--strict must be true or false"],
    [["--size", "1XB"], "--size must list sizes"],
    [["--size", "0"], "--size must list sizes"],
    [["--size", "1K,1024"], "--size lists a size twice"],
    [["--size", "2T"], "--size must list sizes"],
    [["--sizeMB", "8MB"], "--sizeMB must be numbers"],
    [["--sizeMB", "8", "--size", "8"], "cannot be used with option '--size"],
    [["--iterations", "0"], "--iterations must be a whole number, 1 or greater"],
    [["--iterations", "1e3"], "--iterations must be a whole number"],
    [["--seed", "-1"], "--seed must be a whole number, 0 or greater"],
    [["--quick=maybe"], "--quick must be true or false"],
    [["--prefix", "../x"], "--prefix takes only letters"],
    [["plain", "--retries", "5"], "--retries does not apply to plain"],
    [["upload", "--retries", "x"], "--retries must be a whole number"],
    [["--store", "ftp://host/x"], "--store takes s3://"],
    [["--store", "minio://me:sesame@host/x"], "takes no credentials in the URL"],
    [["--store", "minio://host"], "names no bucket"],
    [["--store", "s3://bucket?endpint=x"], "unknown parameter"],
    [["compare"], "missing required argument 'base'"],
    [["compare", "a", "b", "--tasks", "x"], 'there is no task "x"'],
  ])("%p", async (args, message) => {
    const all = suites();
    const { code, stdout, stderr } = await bench(args, { suites: all });
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^idk bench: [^\n]+\n$/u);
    expect(stderr).not.toContain("sesame");
    expect([code, stdout]).toEqual([2, ""]);
    expect(all.flatMap(({ contexts }) => contexts)).toEqual([]);
  });
});

test.each<[text: string, bytes: number]>([
  ["100mbit", 12.5e6],
  ["1gbit", 125e6],
  ["0.5Mbit", 62_500],
  ["8kbit", 1000],
])("a line of %p", (text, bytes) => {
  expect(parseRate(text, "--rate")).toBe(bytes);
});

describe("sizes", () => {
  test.each<[text: string, bytes: number[]]>([
    ["1", [1]],
    ["64K", [65_536]],
    ["64k,1MiB", [65_536, 1_048_576]],
    ["1MB, 10 MB", [1_000_000, 10_000_000]],
    ["25.1MB", [25_100_000]],
    ["1GiB,1GB", [2 ** 30, 1e9]],
    ["100 KB", [100_000]],
  ])("%p", (text, bytes) => {
    expect(parseSizes(text, "--size")).toEqual(bytes);
  });

  test("a megabyte is 1,000,000 bytes", () => {
    expect(parseMegabytes("1,8, 0.5", "--sizeMB")).toEqual([1e6, 8e6, 5e5]);
  });
});
