/*
 * Faults, planted in a copy of the repository: each has to turn the benchmarks red. A fault is one or
 * more patches of the library, in the folder `faults`. The ordinary run only checks that they apply.
 */
import { type PlantedCopy, ok, patchFile, plantedCopy } from "./planted.ts";
import { ROOT, bench, readReport } from "./bench.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ensureMinio, ensurePython } from "./server.ts";
import { join } from "node:path";
import { rm } from "node:fs/promises";
import { problemsOf } from "@idk/bench";

interface Fault {
  readonly title: string;
  /** Names of files in the folder `faults`, without ".patch". */
  readonly patches: readonly string[];
  /** Arguments of `idk bench`: few suites and sizes, for time; the rest has its defaults. */
  readonly run: readonly string[];
  /** What must be red. Each matches one of the failures, as `failuresOf` words them. */
  readonly red: readonly RegExp[];
}

const PUT_1MB = ["encryption-perf", "--size", "1MB"];
const PUT_10MB = ["encryption-perf", "--size", "10MB"];
const GET_1MB = ["decryption-perf", "--size", "1MB"];
const GET_10MB = ["decryption-perf", "--size", "10MB"];
const CIPHERS = ["ciphers", "--size", "100KB"];
const HASH = ["hash-perf", "--size", "1MB,10MB,50MB"];
const STREAMS = ["streaming-throughput", "--size", "100MB,500MB", "--concurrency", "4"];
const SHORT_STREAM = ["streaming-throughput", "--size", "10MB", "--concurrency", "4"];
const COUNTERS = ["counters"];
const SSE = ["sse-overhead"];
const THREADS = ["serial-bound"];
const SNAPSHOTS = ["snapshots"];
const GATEWAY = ["gateway", "--size", "10MB"];
const RECORDER = ["recorder", "--cpuOnly"];
const PACED = ["recorder", "--endpoints", "simple", "--iterations", "6"];
const OUTAGE = ["recorder-outage", "--seconds", "10"];

const FAULTS: readonly Fault[] = [
  {
    title: "400 ms in every put",
    patches: ["put-400-ms"],
    run: PUT_1MB,
    red: [/: 1 MB: put to bare PUT .* missed/],
  },
  {
    title: "400 ms in every put over 1 MiB",
    patches: ["put-over-1-mib-400-ms"],
    run: PUT_10MB,
    red: [/: 10 MB: rate of put to that of bare PUTs .* missed/],
  },
  {
    title: "hashing 20 times slower",
    patches: ["hash-20-times"],
    run: HASH,
    red: [1, 10, 50].map((size) => new RegExp(`: ${size} MB: rate of addressOf .* missed`)),
  },
  {
    title: "hashing 20 % slower",
    patches: ["hash-20-percent"],
    run: HASH,
    red: [1, 10, 50].map((size) => new RegExp(`: ${size} MB: rate of addressOf .* missed`)),
  },
  {
    title: "wrong bytes in trees",
    patches: ["wrong-bytes-in-trees"],
    run: PUT_10MB,
    red: [/encryption-perf: failed: wrong bytes/],
  },
  {
    title: "wrong bytes in trees",
    patches: ["wrong-bytes-in-trees"],
    run: GET_10MB,
    red: [/decryption-perf: failed: wrong bytes/],
  },
  {
    title: "a wrong byte in chunks()",
    patches: ["wrong-byte-in-chunks"],
    run: GET_1MB,
    red: [/decryption-perf: failed: wrong bytes/],
  },
  {
    title: "one more HEAD for each blob, by the store",
    patches: ["head-in-store"],
    run: COUNTERS,
    red: [/counters: .*HEAD.*, against the baseline missed/],
  },
  {
    title: "one more HEAD for each blob, inside the S3 backend",
    patches: ["head-in-s3-backend"],
    run: COUNTERS,
    red: [/counters: .*HEAD.*, against the baseline missed/],
  },
  {
    title: "a downloaded stream that keeps 60 % of its bytes",
    patches: ["stream-down-keeps-60-percent"],
    run: STREAMS,
    red: [/: (?=.*memory)(?=.*down).* missed/],
  },
  {
    title: "an uploaded stream that is kept in memory",
    patches: ["stream-up-keeps-all"],
    run: STREAMS,
    red: [/: (?=.*memory)(?=.*up).* missed/],
  },
  {
    title: "300 MB more resident memory, always",
    patches: ["memory-300-mb"],
    run: STREAMS,
    red: [/: (?=.*memory)(?=.*up).* missed/, /: (?=.*memory)(?=.*down).* missed/],
  },
  {
    title: "SSE silently off",
    patches: ["sse-off"],
    run: SSE,
    red: [/sse-overhead: failed: .*encrypt/],
  },
  {
    title: "SSE uploads 200 ms slower",
    patches: ["sse-upload-200-ms"],
    run: SSE,
    red: [/: .*upload.* missed/],
  },
  {
    title: "deletes that do nothing",
    patches: ["deletes-nothing"],
    run: PUT_1MB,
    red: [/encryption-perf: failed: .*left/],
  },
  {
    title: "one chunk at a time instead of four",
    patches: ["one-chunk-at-a-time"],
    run: PUT_1MB,
    red: [/: put: chunks in flight at once missed: 1, at least 4/],
  },
  {
    title: "one chunk at a time instead of four",
    patches: ["one-chunk-at-a-time"],
    run: GET_1MB,
    red: [/: get: chunks in flight at once missed: 1, at least 4/],
  },
  {
    title: "one chunk at a time instead of four",
    patches: ["one-chunk-at-a-time"],
    run: SHORT_STREAM,
    red: [
      /: put of a stream: chunks in flight at once missed: 1, at least 4/,
      /: get as a stream: chunks in flight at once missed: 1, at least 4/,
    ],
  },
  {
    title: "100 ms more for each chunk that is put",
    patches: ["chunk-100-ms"],
    run: PUT_10MB,
    red: [/: 10 MB: rate of put .* missed/],
  },
  {
    title: "100 ms more for each chunk that is read",
    patches: ["chunk-100-ms"],
    run: GET_10MB,
    red: [/: 10 MB: rate of get .* missed/],
  },
  {
    title: "a NaCl in JavaScript that seals twice",
    patches: ["portable-seals-twice"],
    run: CIPHERS,
    red: [/: 100 KB: seal by the portable NaCl to tweetnacl missed/],
  },
  {
    title: "the NaCl in JavaScript, chosen silently",
    patches: ["portable-nacl"],
    run: PUT_10MB,
    red: [/the NaCl in JavaScript was used/, /: 10 MB: rate of put .* missed/],
  },
  {
    title: "a first get 250 ms slower",
    patches: ["first-get-250-ms"],
    run: GET_1MB,
    red: [/: 1 MB: what a first get adds missed/],
  },
  {
    title: "wrong bytes in the first get of a store, and in no other",
    patches: ["wrong-byte-in-first-get"],
    run: GET_1MB,
    red: [/decryption-perf: failed: .*wrong bytes/],
  },
  {
    title: "no threads",
    patches: ["no-threads"],
    run: COUNTERS,
    red: [/counters: .*threads.* missed/],
  },
  {
    title: "no threads",
    patches: ["no-threads"],
    run: THREADS,
    red: [
      /: put of a stream: seconds of all threads .* missed/,
      /: get as a stream: seconds of all threads .* missed/,
    ],
  },
  {
    title: "one more HEAD for each blob, inside the S3 backend",
    patches: ["head-in-s3-backend"],
    run: SNAPSHOTS,
    red: [/: nothing changed: requests at most missed/],
  },
  {
    title: "one more listing in each backup",
    patches: ["backup-lists-twice"],
    run: SNAPSHOTS,
    red: [/: nothing changed: requests at most missed: 9, at most 8/],
  },
  {
    title: "a backup that reads every file again",
    patches: ["backup-reads-all"],
    run: SNAPSHOTS,
    red: [/: nothing changed: .*time .* missed/],
  },
  {
    title:
      "a gateway that reads small objects twice and in a HEAD, waits in PUT and LIST, and keeps 300 MB",
    patches: [
      "gateway-gets-twice",
      "gateway-head-gets",
      "gateway-put-100-ms",
      "gateway-list-100-ms",
      "memory-300-mb",
    ],
    run: GATEWAY,
    red: [
      /: GET of 1 MiB: requests to the store missed: 2, /,
      /: HEAD: requests to the store missed: 2, /,
      /: 4 KiB PUT: rate to that of the store itself missed/,
      /: LIST of 1000 among 2000 keys: rate to that of the store itself missed/,
      /: peak memory of the gateway missed/,
    ],
  },
  {
    title: "a wrong byte in what a gateway answers",
    patches: ["gateway-wrong-byte"],
    run: GATEWAY,
    red: [/gateway: failed: .*wrong bytes/],
  },
  {
    title: "200 µs more of processor time for each exchange that is recorded",
    patches: ["recorder-200-us"],
    run: RECORDER,
    red: [/: simple: CPU of the recorder for each request missed/],
  },
  {
    title: "a recorder that counts every hundredth exchange of a segment, and loses it",
    patches: ["recorder-loses-some"],
    run: RECORDER,
    red: [/recorder: failed: .* sent, .* read/],
  },
  {
    title: "a recorder that hashes what it uploads 60 times more",
    patches: ["recorder-hashes-60-times"],
    run: RECORDER,
    red: ["large", "large-post"].map(
      (name) => new RegExp(`: ${name}: CPU of the recorder for whole bodies, .* missed`),
    ),
  },
  {
    title: "a recorder that scans bodies for secrets five times",
    patches: ["recorder-scans-five-times"],
    run: RECORDER,
    red: [/: 1 MB: CPU of the scan for secrets, to JSON\.parse missed/],
  },
  {
    title: "a recorder that stops the event loop for 100 ms in each segment",
    patches: ["recorder-stops-100-ms"],
    run: PACED,
    red: [/: simple: 99.9th percentile of latency beyond the control missed/],
  },
  {
    title: "a recorder that keeps segments",
    patches: ["recorder-keeps-segments"],
    run: OUTAGE,
    red: [/: 10 s without a store: peak memory beyond that without a recorder missed/],
  },
  {
    title: "a deep verify that reads one chunk",
    patches: ["verify-reads-one-chunk"],
    run: THREADS,
    red: [/serial-bound: failed: .*damaged blob/],
  },
];

/** Found by comparing the planted sources with the unchanged ones. */
const COMPARED: Fault = {
  title: "100 ms more for each chunk, 300 MB more memory and no threads at once, by `compare`",
  patches: ["chunk-100-ms", "memory-300-mb", "no-threads"],
  run: ["--tasks", "put-store-8m,get-store-64m"],
  red: [
    /: elapsed time missed/,
    /get-store-64m: peak memory missed/,
    /get-store-64m: threads, against the base missed/,
  ],
};

const ALL = [...FAULTS, COMPARED];

describe("patches", () => {
  const names = new Set(ALL.flatMap(({ patches }) => patches));

  test.each([...names])("%s applies to the sources", async (name) => {
    await ok(["git", "apply", "--check", patchFile(name)], ROOT);
  });

  test("each is planted", async () => {
    const files = await Array.fromAsync(new Bun.Glob("*.patch").scan(join(ROOT, FOLDER)));
    expect(files.map((file) => file.replace(/\.patch$/u, "")).toSorted()).toEqual(
      [...names].toSorted(),
    );
  });
});

const FOLDER = "tests/benchmarks/faults";

const slow = process.env["IDK_TEST_SLOW"] === "1" ? describe : describe.skip;

slow("planted", () => {
  let copy: PlantedCopy;
  beforeAll(async () => {
    if (!(await ensureMinio())) throw new Error("there is no MinIO to measure with");
    if (!(await ensurePython())) throw new Error("there is no Python with boto3");
    copy = await plantedCopy();
  });
  afterAll(() => copy?.[Symbol.asyncDispose]());

  /** What a run of sources with these patches is red for, one line each. */
  const measure = async (
    args: readonly string[],
    patches: readonly string[],
  ): Promise<{ code: number; lines: string[] }> => {
    const baseline = args === COUNTERS ? await unchangedCounters() : "none";
    await copy.plant(patches);
    const file = join(copy.temporary, "report.json");
    await rm(file, { force: true });
    const ran = await bench([...args, "--baseline", baseline, "--json", file], {
      root: copy.root,
      capture: true,
    });
    const lines = failuresOf(await readReport(file, ran));
    return { code: ran.code, lines };
  };

  /** A baseline of the unchanged sources, so that the committed one need not be up to date. */
  const unchangedCounters = async (): Promise<string> => {
    const baseline = join(copy.temporary, "baseline.json");
    if (await Bun.file(baseline).exists()) return baseline;
    await copy.plant([]);
    const args = [...COUNTERS, "--baseline", baseline, "--update-baseline", "unchanged sources"];
    const { output } = await bench(args, { root: copy.root, capture: true });
    if (!(await Bun.file(baseline).exists())) throw new Error(output);
    return baseline;
  };

  const runs = new Set(FAULTS.map(({ run }) => run));
  for (const run of runs) {
    test(`nothing: ${run.join(" ")} is green`, async () => {
      expect(await measure(run, [])).toEqual({ code: 0, lines: [] });
    });
  }

  for (const { title, patches, run, red } of FAULTS) {
    test(`${title}: ${run[0]} is red`, async () => {
      expectRed(await measure(run, patches), red);
    });
  }

  const compare = async (head: string) => {
    const file = join(copy.temporary, "comparison.json");
    const args = ["compare", "unchanged", head, ...COMPARED.run, "--json", file];
    await rm(file, { force: true });
    const ran = await bench(args, { root: copy.root, capture: true });
    return { code: ran.code, lines: failuresOf(await readReport(file, ran)) };
  };

  test("nothing: compare is green", async () => {
    await copy.plant([]);
    expect(await compare("unchanged")).toEqual({ code: 0, lines: [] });
  });

  test(`${COMPARED.title}: is red`, async () => {
    await copy.plant(COMPARED.patches);
    await copy.git("commit", "--quiet", "--no-verify", "--all", "--message=planted");
    const planted = (await copy.git("rev-parse", "HEAD")).trim();
    expectRed(await compare(planted), COMPARED.red);
  });
});

function expectRed(
  { code, lines }: { readonly code: number; readonly lines: readonly string[] },
  red: readonly RegExp[],
): void {
  console.log(lines.join("\n"));
  const unseen = red.filter((pattern) => !lines.some((line) => pattern.test(line)));
  expect({ code, unseen, ...(unseen.length > 0 && { lines }) }).toEqual({ code: 1, unseen: [] });
}

/** An inconclusive target is not red: noise has not found a fault. */
function failuresOf(report: Parameters<typeof problemsOf>[0]): string[] {
  return problemsOf(report, { strict: false, ci: true })
    .filter(({ level }) => level === "failure")
    .map(({ suite = "run", target, message }) => {
      if (target === undefined) return `${suite}: ${message}`;
      const { name, value, least, most } = target;
      const bound = least === undefined ? `at most ${most}` : `at least ${least}`;
      return `${suite}: ${name} missed: ${Number(value.toPrecision(4))}, ${bound}`;
    });
}
