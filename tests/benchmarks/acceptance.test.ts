/*
 * One run of `idk bench`, judged: each suite and each target of its report is a test. The report and
 * its pages are in .cache/reports, so that what is published is what was judged.
 */
import {
  COMMITTED,
  type Measurement,
  type SuiteResult,
  describeProblem,
  missingFrom,
  problemsOf,
  readBaseline,
  suites,
} from "@idk/bench";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { ROOT, bench, readReport } from "./bench.ts";
import { describe, expect, test } from "bun:test";
import { mkdir, rm } from "node:fs/promises";
import { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { ensureMinio, ensurePython } from "./server.ts";
import { join } from "node:path";

const REPORTS = join(ROOT, ".cache/reports");
const OUTPUTS = ["json", "html", "markdown"].flatMap((format) => [
  `--${format}`,
  join(REPORTS, `benchmarks.${format === "markdown" ? "md" : format}`),
]);
const JSON_FILE = OUTPUTS[1]!;

const strict = process.env["IDK_BENCH_STRICT"] === "1";
const ci = Boolean(process.env["CI"]);

await mkdir(REPORTS, { recursive: true });
await rm(JSON_FILE, { force: true });
await ensurePython();
const bucket = (await ensureMinio()) ? await newBucket(minioServer()) : undefined;
const left: string[] = [];
const run = await bench([
  ...OUTPUTS,
  ...(strict ? ["--strict"] : []),
  ...(bucket === undefined ? [] : ["--store", urlOf(bucket)]),
]);
if (bucket !== undefined) {
  const page = await bucket.client.send(new ListObjectVersionsCommand({ Bucket: bucket.name }));
  left.push(...(page.Versions ?? []).map(({ Key = "" }) => Key));
  await bucket.remove();
}
const report = await readReport(JSON_FILE, run);
const committed = (await Bun.file(COMMITTED).exists()) ? await readBaseline(COMMITTED) : undefined;
const missing = committed === undefined ? [] : missingFrom(report.suites, committed);
const problems = problemsOf(report, { strict, ci });

/** All suites that are not slow, and those of the baseline: one that disappears must not pass. */
const expected = new Set([
  ...suites.filter(({ slow }) => !slow).map(({ name }) => name),
  ...Object.keys(committed?.suites ?? {}).filter(
    (name) => suites.find((suite) => suite.name === name)?.slow !== true,
  ),
  ...report.suites.map(({ suite }) => suite),
]);

describe("the run", () => {
  test("uses the native NaCl", () => expect(report.machine.nacl).toBe("native"));

  test("is compared with a committed baseline", () => {
    if (committed !== undefined) return;
    throw new Error(`there is no ${COMMITTED}: idk bench --update-baseline REASON writes one`);
  });

  test("measures everything that is in the baseline", () => expect(missing).toEqual([]));

  test("has a baseline of the targets of every suite that is not slow", () => {
    const quick = suites.filter(({ slow }) => !slow).map(({ name }) => name);
    const named = quick.filter(
      (name) => Object.keys(committed?.suites[name]?.targets ?? {}).length > 0,
    );
    expect(named).toEqual(quick);
  });

  test.skipIf(bucket === undefined)("leaves no object behind", () => expect(left).toEqual([]));

  test("has the exit code of its verdicts", () => {
    const failures = problems.filter(({ level }) => level === "failure");
    expect(run.code).toBe(failures.length + missing.length > 0 ? 1 : 0);
  });
});

function judge(suite: string, name: string): void {
  const problem = problems.find((one) => one.suite === suite && one.target?.name === name);
  if (problem === undefined) return;
  const sentence = `${name} ${describeProblem(problem)}`;
  if (problem.level === "failure") throw new Error(sentence);
  console.warn(sentence);
}

type Find = (name: string) => Measurement;
type Checks = Readonly<Record<string, (result: SuiteResult, find: Find) => void>>;

function lookup({ measurements }: SuiteResult): Find {
  return (name) => {
    const found = measurements.find((measurement) => measurement.name === name);
    if (found === undefined) throw new Error(`nothing was measured as ${name}`);
    return found;
  };
}

/** What holds for the results of every suite. */
const COMMON: Checks = {
  "has targets": ({ targets }) => expect(targets).not.toBeEmpty(),
  "reports verdicts of pairs that agree with their intervals": ({ pairs }) => {
    for (const { interval, meanDelta, verdict } of pairs) {
      expect(interval.low).toBeLessThanOrEqual(meanDelta);
      expect(interval.high).toBeGreaterThanOrEqual(meanDelta);
      const none = interval.low <= 0 && interval.high >= 0;
      expect(verdict.includes("no measurable difference")).toBe(none);
    }
  },
  "reports no memory above the peak": ({ measurements }) => {
    for (const { memory = [], peakRss } of measurements) {
      if (peakRss === undefined || memory.length === 0) continue;
      expect(peakRss).toBeGreaterThanOrEqual(Math.max(...memory.map(({ rss }) => rss)));
    }
  },
};

/** What a suite must measure, which a change of its code could lose without missing a target. */
const CHECKS: Readonly<Record<string, Checks>> = {
  "hash-perf": {
    "compares SHA-1, SHA-256 and SHA-512, whole and incremental": (_, find) => {
      for (const megabytes of [1, 10, 50, 100]) {
        for (const way of ["addressOf", "SHA-256 incremental", "SHA-1", "SHA-512"]) {
          const { samples, bytesPerOperation } = find(`${way} ${megabytes} MB`);
          expect(samples.length).toBeGreaterThanOrEqual(10);
          expect(bytesPerOperation).toBe(megabytes * 1e6);
        }
      }
    },
  },
  "encryption-perf": {
    "times every part of every put": (_, find) => {
      expectParts(find, ["encrypt", "header", "hash", "upload"]);
    },
  },
  "decryption-perf": {
    "times every part of every get": (_, find) => {
      expectParts(find, ["download", "parse", "hash", "decrypt"]);
    },
    "compares a first get with later ones": ({ pairs }) => {
      expect(pairs.map(({ base, head }) => [base, head])).toEqual(
        SIZES.map((size) => [`first get ${size}`, `get ${size}`]),
      );
    },
  },
  "sse-overhead": {
    "measures uploads and downloads in at least 30 pairs": ({ pairs }) => {
      for (const way of ["upload", "download"]) {
        const own = pairs.find(({ base }) => base.startsWith(`${way}, plain`));
        expect(own?.deltas.length).toBeGreaterThanOrEqual(30);
      }
    },
  },
  "streaming-throughput": {
    "records the memory of streams in both directions": ({ measurements }) => {
      for (const way of ["up", "down"]) {
        const own = measurements.filter(({ name }) => name.startsWith(`${way} `));
        expect(own.some(({ memory = [] }) => memory.length > 2)).toBe(true);
      }
    },
  },
  "blob-pipeline": {
    "times each stage of each file for both pipelines": (_, find) => {
      for (const stage of ["read", "compress", "key", "encrypt", "write"]) {
        for (const who of ["idk", "classic"]) {
          const { samples } = find(`${who}, a file: ${stage}`);
          expect({ who, stage, all: samples.length >= FILES }).toEqual({ who, stage, all: true });
        }
      }
    },
    "stores every file, in fewer bytes": ({ counters }, find) => {
      for (const name of ["idk, random", "idk, convergent"]) {
        const [blobs, bytes] = ["blobs", "bytes stored"].map(
          (what) => counters.find((counter) => counter.name === `${name}: ${what}`)?.value ?? 0,
        );
        expect(blobs).toBeGreaterThanOrEqual(FILES);
        expect(bytes).toBeGreaterThan(0);
        expect(bytes).toBeLessThan(find(name).bytesPerOperation!);
      }
    },
  },
  gateway: {
    "compares every operation with the store itself": (_, find) => {
      for (const who of ["gateway", "direct"]) {
        for (const what of ["up, 10 MB", "down, 10 MB"]) {
          const [way, size] = what.split(", ");
          expect(find(`${way}, ${who} ${size}`).samples.length).toBeGreaterThanOrEqual(5);
        }
        for (const what of ["put", "get", "head", "head one by one", "list"]) {
          expect(find(`${what}, ${who}`).samples.length).toBeGreaterThanOrEqual(5);
        }
      }
    },
    "counts requests to the store": ({ counters }) => {
      const requests = new Map(counters.map(({ name, value }) => [name, value]));
      const of = (what: string) => requests.get(`${what}: requests`);
      expect(["GET of 1 MiB", "HEAD", "LIST"].map(of)).toEqual([1, 0, 0]);
    },
  },
  scaling: {
    "measures up to 256 MiB and 1024 recipients": (_, find) => {
      for (const way of ["put", "get"]) {
        for (const size of ["1 MiB", "16 MiB", "256 MiB"]) {
          expect(find(`${way} ${size}`).peakRss).toBeGreaterThan(0);
        }
        for (const count of [1, 16, 1024]) {
          expect(find(`${way}, recipients: ${count}`).x?.value).toBe(count);
        }
      }
    },
  },
  ciphers: {
    "seals and opens with every cipher at every size": ({ measurements, notes }) => {
      for (const cipher of ["native", "portable", "AES-256-GCM", "ChaCha20-Poly1305", "age"]) {
        for (const size of ["1 KB", "100 KB", "1 MB", "16 MB"]) {
          for (const way of ["seal", "open"]) {
            const measured = measurements.some(
              ({ name }) => name.includes(cipher) && name.includes(way) && name.includes(size),
            );
            const excused = notes.some((note) => note.startsWith(`not measured: ${cipher}`));
            expect([cipher, size, way, measured || excused]).toEqual([cipher, size, way, true]);
          }
        }
      }
    },
  },
};

/** In the mix of `blob-pipeline`. */
const FILES = 263;
const SIZES = ["100 KB", "1 MB", "10 MB"];

function expectParts(find: Find, parts: readonly string[]): void {
  for (const size of SIZES) {
    for (const part of parts) {
      expect(find(`${size}: ${part}`).distribution.least).toBeGreaterThan(0);
    }
  }
}

function urlOf({ server: { endpoint }, name }: Bucket): string {
  const { host, protocol } = new URL(endpoint);
  return `minio://${host}/${name}?tls=${protocol === "https:" ? 1 : 0}`;
}

for (const name of expected) {
  const result = report.suites.find(({ suite }) => suite === name);
  describe(name, () => {
    if (result?.status === "skipped" && !ci) {
      test.skip(`skipped: ${result.reason}`, () => {});
      return;
    }
    test("completes", () => {
      if (result === undefined) throw new Error("the suite is missing from the report");
      if (result.status !== "completed") throw new Error(`${result.status}: ${result.reason}`);
    });
    for (const target of result?.targets ?? []) {
      test(`meets its target: ${target.name}`, () => judge(name, target.name));
    }
    if (result?.status === "completed") {
      for (const [title, check] of Object.entries({ ...COMMON, ...CHECKS[name] })) {
        test(title, () => check(result, lookup(result)));
      }
    }
  });
}
