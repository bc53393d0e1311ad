/**
 * What recording costs a server: CPU time of each request, and latency at a fixed rate of requests, half of
 * what the server can answer. The modes are interleaved, and one of them is the server without a recorder
 * once more. Fails if anything was not recorded.
 */
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { withFolder } from "../../harness/files.ts";
import { runJob } from "../../harness/processes.ts";
import { type Findings, type Lookup, lookup, pairOf } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import { ratioTarget, sampledTarget } from "../../harness/targets.ts";
import type { Target } from "../../report/report.ts";
import { median } from "../../statistics/describe.ts";
import { type Random, seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { ENDPOINTS, type Endpoint } from "./endpoints.ts";
import type { Load, LoadJob } from "./load.ts";
import { type RecordedServer, startServer } from "./recorded-server.ts";
import { MODES, type Mode } from "./server.ts";

const LOAD = join(import.meta.dirname, "load.ts");

/** How much is measured. */
interface Extent {
  readonly lanes: readonly (readonly [endpoint: string, mode: Mode])[];
  readonly blockSeconds: number;
  /** Of bodies in a block, so that what whole bodies take fits on the disk. */
  readonly blockBytes: number;
  /** Requests to each mode before its first block: until its code is compiled, it takes more CPU time. */
  readonly warmUp: number;
  readonly hasLatency: boolean;
}

const EVERYTHING: Extent = {
  lanes: ENDPOINTS.flatMap(({ name }) => MODES.map((mode) => [name, mode] as const)),
  blockSeconds: 2,
  blockBytes: 64e6,
  warmUp: 200,
  hasLatency: true,
};

/** What targets of CPU time need; and whole bodies, to see that all of them are recorded. */
const CPU_ONLY: Extent = {
  lanes: [
    ["simple", "disabled"],
    ["simple", "active"],
    ["sensitive", "disabled"],
    ["sensitive", "active"],
    ["sensitive", "rules"],
    ["large", "whole"],
    ["large-post", "whole"],
  ],
  blockSeconds: 0.75,
  blockBytes: 8e6,
  warmUp: 3000,
  hasLatency: false,
};

/** Seconds of CPU time that a recorded simple GET may take. */
const SIMPLE = { most: 120e-6, goal: 20e-6 };
/** Of the recorder's own CPU time, with 20 rules to without. */
const RULES = { most: 1.6, goal: 1.1 };
const LATENCY_MOST = { simple: 1.03, other: 1.05 };

const nameOf = (endpoint: string, mode: Mode): string => `${endpoint}, ${mode}`;

export async function recorder(context: SuiteContext): Promise<Findings> {
  const { iterations, quick, seed, signal, log } = context;
  const isCpuOnly = context.options?.["cpuOnly"] === true;
  const extent = isCpuOnly ? CPU_ONLY : EVERYTHING;
  const { blockBytes, blockSeconds, hasLatency, lanes: measured, warmUp } = extent;
  const rounds = iterations ?? (quick ? 1 : 6);
  const budget = isCpuOnly || iterations !== undefined ? 1 : 3;
  const requests = (endpoint: Endpoint, most: number): number =>
    Math.max(5, Math.floor(Math.min(quick ? most / 10 : most, blockBytes / bytesOf(endpoint))));
  const identity = await generateIdentity();
  const random = seededRandom(seed);
  return withFolder(async (folder) => {
    await using servers = new AsyncDisposableStack();
    const byMode = new Map<Mode, RecordedServer>();
    for (const mode of MODES) {
      if (mode !== "disabled" && measured.every(([, needed]) => needed !== mode)) continue;
      byMode.set(mode, servers.use(await startServer(mode, folder, identity)));
    }
    const sent = new Map(MODES.map((mode) => [mode, new Map<string, number>()]));
    const load = async (mode: Mode, job: Omit<LoadJob, "port">): Promise<Load> => {
      const counts = sent.get(mode)!;
      counts.set(job.endpoint, (counts.get(job.endpoint) ?? 0) + job.count);
      return runJob<Load>(LOAD, { ...job, port: byMode.get(mode)!.port }, { signal });
    };

    const lanes: Lane[] = [];
    for (const endpoint of ENDPOINTS) {
      const modes = measured.flatMap(([name, mode]) => (name === endpoint.name ? [mode] : []));
      if (modes.length === 0) continue;
      const count = requests(endpoint, warmUp);
      // Warms all servers up.
      for (const mode of modes) await load(mode, { endpoint: endpoint.name, count });
      const capacity = count / (await load("disabled", { endpoint: endpoint.name, count })).seconds;
      const rate = Math.max(1, capacity / 2);
      log(`${endpoint.name}: ${rate.toFixed(0)} requests a second`);
      const block = requests(endpoint, rate * blockSeconds);
      for (const mode of modes) {
        const labels = [
          { name: nameOf(endpoint.name, mode), table: endpoint.name, series: mode },
        ] as const;
        lanes.push({
          labels,
          async sample() {
            const server = byMode.get(mode)!;
            const before = await server.usage();
            const { latencies } = await load(mode, { endpoint: endpoint.name, count: block, rate });
            const after = await server.usage();
            const cpuSeconds = (after.cpuSeconds - before.cpuSeconds) / block;
            return [{ seconds: median(latencies), cpuSeconds, peakRss: after.rss }];
          },
        });
      }
    }
    const sampled = await sampleLanes(lanes, { rounds, budget, signal, seed }, (of) => [
      ...cpuTargets(of, random),
      ...(hasLatency ? latencyTargets(of, random) : []),
    ]);
    for (const [mode, server] of byMode) await server.verify(sent.get(mode)!);

    const find = lookup(sampled.measurements);
    const pairs = (hasLatency && rounds > 1 ? measured : []).flatMap(([name, mode]) => {
      if (mode === "disabled") return [];
      const [base, head] = [find(nameOf(name, "disabled")), find(nameOf(name, mode))];
      return pairOf(`${name}: ${mode} to disabled`, base, head, random);
    });
    const notes = [
      "A sample is the median latency of a block at half of the capacity, from when each request was to be sent; CPU time is that of the server for each request, until what it recorded is stored in a folder. Clients and server share the cores.",
      "`control` is the server without a recorder once more: its difference is noise.",
    ];
    return { ...sampled, pairs, notes };
  });
}

/** Of both bodies. */
function bytesOf({ answer, body = "" }: Endpoint): number {
  return answer().length + body.length;
}

function cpuTargets(of: Lookup, random: Random): Target[] {
  const cpu = (endpoint: string, mode: Mode): readonly number[] =>
    of(nameOf(endpoint, mode)).cpuSamples ?? [];
  /** CPU time of the recorder alone, in each round. */
  const own = (endpoint: string, mode: Mode): number[] => {
    const bare = cpu(endpoint, "disabled");
    return cpu(endpoint, mode).map((seconds, i) => seconds - bare[i]!);
  };
  const plain = own("sensitive", "active");
  const ruled = own("sensitive", "rules").map((seconds, i) => seconds / plain[i]!);
  return [
    sampledTarget("simple: CPU of the recorder for each request", own("simple", "active"), SIMPLE, {
      unit: "seconds",
      kind: "cpu",
      random,
    }),
    sampledTarget("sensitive: CPU of the recorder with 20 rules, to without", ruled, RULES, {
      unit: "ratio",
      kind: "cpu",
      random,
    }),
  ];
}

function latencyTargets(of: Lookup, random: Random): Target[] {
  return ENDPOINTS.map(({ name }) =>
    ratioTarget(
      `${name}: median latency, recorded to not recorded`,
      { of: of(nameOf(name, "active")), to: of(nameOf(name, "disabled")) },
      { most: name === "simple" ? LATENCY_MOST.simple : LATENCY_MOST.other },
      random,
    ),
  );
}
