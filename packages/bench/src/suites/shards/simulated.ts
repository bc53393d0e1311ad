/** `scaling --simulate`: the speed-up of operations over a whole store in shards, by documented rates. */
import { type Findings, measurementOf } from "../../harness/results.ts";
import { exactTarget } from "../../harness/targets.ts";
import type { Measurement, Target } from "../../report/report.ts";
import { counted, formatBytes } from "../../report/units.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { PROVIDERS } from "./provider-rates.ts";
import {
  type Member,
  type Operation,
  type StoreSize,
  memberRate,
  providerRate,
  simulate,
} from "./simulation.ts";

const COUNTS = [1, 4, 16, 64, 256];

/** What a whole store has: 42 TB. */
const SIZE: StoreSize = { blobs: 1e7, bytes: 4 * 2 ** 20 };
const MEMBER: Member = { inFlight: 64, latency: 0.05, rate: 100e6, start: 1, spread: 0.1 };

/** One machine is neither faster nor slower than all others are on average. */
const memberOf = (shards: number): Member => ({
  ...MEMBER,
  spread: shards === 1 ? 0 : MEMBER.spread,
});

const OPERATIONS: readonly Operation[] = [
  { name: "verify --server-checksums", reads: 1, writes: 0, moves: false },
  { name: "verify, check --read-data", reads: 1, writes: 0, moves: true },
  // Into another bucket of the same provider, whose names are listed, too.
  { name: "copy", reads: 1 + 1 / 1000, writes: 1, moves: true },
];

/** More shards may be slower only by chance: one machine more may be a slow one. */
const SLOWER_MOST = 0.9;

export function simulatedShards({ seed }: Pick<SuiteContext, "seed">): Findings {
  const measurements: Measurement[] = [];
  const targets: Target[] = [];
  const notes: string[] = [];
  for (const operation of OPERATIONS) {
    for (const provider of PROVIDERS) {
      const name = `${operation.name}: ${provider.name}`;
      const seconds = COUNTS.map((count) =>
        simulate(operation, provider, SIZE, memberOf(count), count, seededRandom(seed)),
      );
      const speedUps = seconds.map((each) => seconds[0]! / each);
      for (const [i, count] of COUNTS.entries()) {
        const labels = {
          name: `${name}, ${counted(count, "shard")}`,
          table: operation.name,
          series: name,
          x: { value: count, unit: "shards" },
        } as const;
        measurements.push(measurementOf(labels, [{ seconds: seconds[i]! }]));
        if (i === 0) continue;
        const least = SLOWER_MOST * speedUps[i - 1]!;
        targets.push(exactTarget(`speed-up, ${labels.name}`, speedUps[i]!, "ratio", { least }));
      }
      const fastest = providerRate(operation, provider);
      const enough = fastest / memberRate(operation, SIZE, MEMBER);
      if (provider.perShard || enough >= COUNTS.at(-1)!) continue;
      notes.push(`${name}: the provider's rate is that of ${counted(Math.ceil(enough), "shard")}.`);
    }
  }
  return {
    measurements,
    targets,
    notes: [
      ...notes,
      `Simulated, not measured: ${SIZE.blobs.toLocaleString("en-US")} blobs of ${formatBytes(SIZE.bytes)}, machines with ${MEMBER.inFlight} requests in flight that take ${1000 * MEMBER.latency} ms each, and ${MEMBER.rate / 1e6} MB/s, each up to ${100 * MEMBER.spread} % faster or slower. The rates are those that providers document, and the requests are shared fairly. Not in it: what a provider allows beyond its documented rate, requests that it rejects, and the metadata of snapshots, which check reads besides.`,
    ],
  };
}
