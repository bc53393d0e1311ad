/* A made-up report with every kind of content that the page shows. Nothing in it was measured. */
import { type Problem, problemsOf } from "../../src/report/outcome.ts";
import {
  type Measurement,
  type Pair,
  REPORT_SCHEMA,
  type Report,
  type SuiteResult,
} from "../../src/report/report.ts";
import { bootstrapInterval } from "../../src/statistics/bootstrap.ts";
import { distributionOf, mean } from "../../src/statistics/describe.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const MIB = 2 ** 20;

/** Problems as the command finds them. */
export function problemsIn(report: Report): Problem[] {
  return problemsOf(report, { strict: false, ci: false });
}

export function sampleReport(): Report {
  const random = seededRandom(20);
  return {
    schema: REPORT_SCHEMA,
    createdAt: "2026-03-01T14:30:00.000Z",
    version: "0.0.0",
    revision: "0123456789abcdef0123456789abcdef01234567",
    machine: {
      processor: "Made-up processor, for a sample",
      cores: 8,
      memory: 32 * 2 ** 30,
      system: "linux 6.0.0",
      runtime: "Bun 1.4.5",
      nacl: "native",
    },
    calibration: { sha256: 1.41e9, secretbox: 0.92e9, memoryCopy: 9.8e9 },
    quick: false,
    suites: [
      hashing(random),
      overhead(random),
      streaming(random),
      ciphers(random),
      scaling(random),
      absent,
      broken,
    ],
  };
}

/** Realistic times: a minimum, a spread upwards, and occasional slow ones. */
function times(random: Random, typical: number, count: number, spread = 0.06): number[] {
  return Array.from({ length: count }, () => {
    const slow = random() < 0.03 ? 1 + random() * 1.5 : 1;
    return typical * (1 - spread + spread * -Math.log(1 - random() * 0.999)) * slow;
  });
}

function measured(
  name: string,
  series: string,
  samples: readonly number[],
  more: Partial<Measurement> = {},
): Measurement {
  return { name, series, samples, distribution: distributionOf(samples), ...more };
}

function paired(name: string, base: Measurement, head: Measurement): Pair {
  const deltas = head.samples.map((time, i) => time - base.samples[i]!);
  const interval = bootstrapInterval(deltas, mean);
  const found = interval.low > 0 || interval.high < 0;
  return {
    name,
    base: base.name,
    head: head.name,
    deltas,
    meanDelta: mean(deltas),
    interval,
    overhead: head.distribution.mean / base.distribution.mean - 1,
    verdict: found
      ? "the interval excludes zero: encryption by the server takes longer"
      : "the interval includes zero: no measurable difference",
  };
}

function suite(name: string, title: string, parts: Partial<SuiteResult>): SuiteResult {
  const nothing = { measurements: [], pairs: [], counters: [], targets: [], notes: [] };
  return { suite: name, title, status: "completed", seconds: 41.7, ...nothing, ...parts };
}

function hashing(random: Random): SuiteResult {
  const measurements = ["SHA-256", "SHA-1", "SHA-512"].flatMap((series, i) =>
    [1, 10, 50, 100].map((mb) =>
      measured(`${series}, ${mb} MB`, series, times(random, mb / [1400, 1900, 780][i]!, 40), {
        x: { value: mb * 1e6, unit: "bytes" },
        bytesPerOperation: mb * 1e6,
      }),
    ),
  );
  return suite("hash-perf", "How fast content is hashed", {
    measurements,
    targets: [
      {
        name: "SHA-256 of 100 MB",
        value: 1.39e9,
        unit: "bytes/s",
        least: 1e8,
        kind: "wall",
        verdict: "met",
      },
      {
        name: "against a bare createHash loop",
        value: 0.985,
        unit: "ratio",
        least: 0.9,
        kind: "wall",
        verdict: "met",
      },
      {
        name: "a blob of 1 KB",
        value: 3.1e-6,
        unit: "seconds",
        most: 1e-3,
        kind: "wall",
        verdict: "met",
      },
      {
        name: "variance across sizes",
        value: 0.12,
        unit: "ratio",
        most: 0.5,
        kind: "wall",
        verdict: "met",
      },
    ],
  });
}

function overhead(random: Random): SuiteResult {
  const put = (name: string, typical: number) =>
    measured(name, name, times(random, typical, 120, 0.12), {
      bytesPerOperation: 8e6,
      cpuSamples: Array.from({ length: 120 }, () => typical * 0.4),
    });
  const plainUp = put("upload", 0.0712);
  const sealedUp = put("upload, SSE AES256", 0.0781);
  const plainDown = put("download", 0.0433);
  const sealedDown = put("download, SSE AES256", 0.0434);
  return suite("sse-overhead", "What encryption by the server adds", {
    measurements: [plainUp, sealedUp, plainDown, sealedDown],
    pairs: [paired("upload", plainUp, sealedUp), paired("download", plainDown, sealedDown)],
    targets: [
      {
        name: "overhead of a download",
        value: 1.1,
        unit: "ratio",
        most: 1.25,
        interval: { low: 0.7, high: 1.6, confidence: 0.99 },
        kind: "wall",
        verdict: "inconclusive",
      },
      {
        name: "overhead of an upload",
        value: 1.31,
        interval: { low: 1.27, high: 1.35, confidence: 0.99 },
        unit: "ratio",
        most: 1.25,
        kind: "wall",
        verdict: "missed",
      },
    ],
    counters: [{ name: "upload: PUT requests", value: 1, unit: "count" }],
    notes: ["Objects are removed afterwards.", "Uploads with and without take turns."],
  });
}

function streaming(random: Random): SuiteResult {
  const measurements = [10, 50, 100, 500].flatMap((mb) =>
    ["put", "get"].map((series, i) =>
      measured(`${series} ${mb} MB`, series, times(random, mb / [310, 420][i]!, 9), {
        x: { value: mb * 1e6, unit: "bytes" },
        bytesPerOperation: mb * 1e6,
        peakRss: Math.round((148 + random() * 14 + i * 9) * MIB),
        memory: Array.from({ length: 400 }, (_, at) => ({
          at: (at / 400) * (mb / 60),
          rss: Math.round((96 + 52 * (1 - Math.exp(-at / 30)) + 7 * random() + i * 9) * MIB),
          heap: 20 * MIB,
        })),
      }),
    ),
  );
  return suite("streaming-throughput", "Large contents up and down", {
    measurements,
    targets: [
      {
        name: "peak memory, largest against smallest",
        value: 1.04,
        unit: "ratio",
        most: 1.2,
        kind: "wall",
        verdict: "met",
      },
      {
        name: "hashes that differ",
        value: 0,
        unit: "count",
        most: 0,
        kind: "wall",
        verdict: "met",
      },
    ],
  });
}

function ciphers(random: Random): SuiteResult {
  const kinds: [string, number][] = [
    ["XSalsa20-Poly1305, native", 900],
    ["XSalsa20-Poly1305, portable", 95],
    ["AES-256-GCM", 2600],
    ["ChaCha20-Poly1305", 1500],
    ["age", 310],
  ];
  const measurements = kinds.flatMap(([series, rate]) =>
    [1024, 16_384, 262_144, MIB, 16 * MIB].map((bytes) =>
      measured(
        `${series}, ${bytes < MIB ? `${bytes / 1024} KiB` : `${bytes / MIB} MiB`}`,
        series,
        times(random, bytes / (rate * 1e6) + 4e-6, 200, 0.05),
        { x: { value: bytes, unit: "bytes" }, bytesPerOperation: bytes },
      ),
    ),
  );
  return suite("ciphers", "Ciphers side by side", { measurements });
}

function scaling(random: Random): SuiteResult {
  const measurements = [1, 4, 16, 64, 256, 1024].map((count) =>
    measured(`put for ${count}`, "put", times(random, 4e-3 + count * 6e-5, 20), {
      x: { value: count, unit: "recipients" },
    }),
  );
  return suite("scaling", "How time grows with recipients", {
    measurements,
    targets: [
      {
        name: "growth with recipients",
        value: 0.62,
        unit: "exponent",
        most: 1.1,
        kind: "wall",
        verdict: "met",
      },
    ],
  });
}

const absent = suite("encryption-perf", "Sealing and sending small contents", {
  status: "skipped",
  reason: "no object store: start one with script/minio",
  seconds: 0,
});

const broken = suite("blob-pipeline", "263 mixed files through every stage", {
  status: "failed",
  reason: "the store answered 503 Slow Down to every one of 5 tries",
  seconds: 3.2,
});
