/**
 * What recording costs a server: CPU time of each request, and latency at a fixed rate of requests, half of
 * what the server can answer. The modes are interleaved, and one of them is the server without a recorder
 * once more. Fails if anything was not recorded.
 */
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { withFolder } from "../../harness/files.ts";
import { runJob } from "../../harness/processes.ts";
import { type Findings, type Sample, lookup, pairOf } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import { withScratch } from "../../object-store/scratch.ts";
import { median, percentile } from "../../statistics/describe.ts";
import type { SuiteContext } from "../../suite.ts";
import { ENDPOINTS, type Endpoint } from "./endpoints.ts";
import { BODY_BYTES, type RecordedServer, type Setting, startServer } from "./recorded-server.ts";
import type { Mode } from "./server.ts";
import {
  LEAST,
  type Modes,
  PARSE,
  SCAN,
  TAIL,
  cpuTargets,
  latencyTargets,
  nameOf,
} from "./targets.ts";

const LEAST_WORK = join(import.meta.dirname, "least-work.ts");
/** Bodies of a sample. */
const LEAST_COUNT = 8;

/** How much is measured. */
interface Extent {
  readonly modes: Modes;
  readonly blockSeconds: number;
  /** Of bodies in a block, as far as they are recorded. */
  readonly blockBytes: number;
  /**
   * Requests to each mode, twice, before its first block: until its code is compiled, it takes more CPU
   * time, some 30 µs of each of the first 20,000.
   */
  readonly warmUp: number;
  readonly hasLatency: boolean;
}

/** Of bodies that are sent as fast as can be: a recorder drops those that it cannot queue. */
const QUEUED_BYTES = 16e6;

const PACED = { blockSeconds: 2, blockBytes: Infinity, warmUp: 1000, hasLatency: true };
const RECORDED: readonly Mode[] = ["disabled", "control", "active"];

const EVERYTHING: Extent = {
  ...PACED,
  modes: {
    simple: RECORDED,
    "compute-hash": RECORDED,
    medium: [...RECORDED, "rules"],
    large: [...RECORDED, "whole"],
    "large-post": [...RECORDED, "whole"],
    sensitive: [...RECORDED, "rules"],
  },
};

const TO_STORE: Extent = {
  ...PACED,
  modes: { simple: [...RECORDED, "store"], medium: [...RECORDED, "store"] },
};

/** What targets of CPU time need. */
const CPU_ONLY: Extent = {
  modes: {
    simple: ["disabled", "active"],
    large: ["disabled", "whole"],
    "large-post": ["disabled", "whole"],
    sensitive: ["disabled", "active", "rules"],
  },
  blockSeconds: 0.75,
  blockBytes: 8e6,
  warmUp: 10_000,
  hasLatency: false,
};

export function recorder(context: SuiteContext): Promise<Findings> {
  const { options = {}, signal } = context;
  const { modes, ...extent } = options["cpuOnly"] === true ? CPU_ONLY : EVERYTHING;
  const named = String(options["endpoints"] ?? Object.keys(modes)).split(",");
  const unknown = named.find((name) => modes[name] === undefined);
  if (unknown !== undefined) throw new Error(`there is no endpoint ${unknown}`);
  const chosen = Object.fromEntries(named.map((name) => [name, modes[name]!]));
  return withFolder(async (folder) => {
    const setting: Setting = { folder, identity: await generateIdentity(), signal };
    return compared(setting, { ...extent, modes: chosen }, context);
  });
}

/** With the archive in an object store beside one in a folder. */
export function recorderStore(context: SuiteContext): Promise<Findings> {
  const { signal, store } = context;
  return withScratch(store, "recorder", ({ at }) =>
    withFolder(async (folder) => {
      const identity = await generateIdentity();
      return compared({ folder, identity, access: at("archive"), signal }, TO_STORE, context);
    }),
  );
}

async function compared(
  setting: Setting,
  { blockBytes, blockSeconds, hasLatency, modes, warmUp }: Extent,
  { iterations, log, quick, signal }: SuiteContext,
): Promise<Findings> {
  const rounds = iterations ?? (quick ? 1 : 6);
  const budget = hasLatency && iterations === undefined ? 3 : 1;
  await using servers = new AsyncDisposableStack();
  const byMode = new Map<Mode, RecordedServer>();
  for (const mode of new Set(Object.values(modes).flat())) {
    const access = mode === "store" ? setting.access : undefined;
    byMode.set(mode, servers.use(await startServer(mode, { ...setting, access })));
  }
  const countOf = (endpoint: Endpoint, mode: Mode, most: number, bytes: number): number => {
    const fitting = bytes / recordedBytes(endpoint, mode);
    return Math.max(5, Math.floor(Math.min(quick ? most / 10 : most, fitting)));
  };

  const lanes: Lane[] = [];
  const rates: string[] = [];
  for (const endpoint of ENDPOINTS.filter(({ name }) => modes[name] !== undefined)) {
    const { name } = endpoint;
    const own = modes[name]!;
    const capacities: number[] = [];
    for (const mode of own) {
      const server = byMode.get(mode)!;
      const count = countOf(endpoint, mode, warmUp, QUEUED_BYTES);
      await capacityOf(server, name, count);
      const capacity = await capacityOf(server, name, count);
      await server.verify();
      if (mode !== "whole") capacities.push(capacity);
    }
    const rate = Math.max(1, Math.min(...capacities) / 2);
    rates.push(`${name} ${rate.toFixed(0)}`);
    log(`${name}: ${rate.toFixed(0)} requests a second`);
    for (const mode of own) {
      const server = byMode.get(mode)!;
      const labels = { name: nameOf(name, mode), table: name, series: mode };
      const tail = { name: nameOf(name, mode, TAIL), table: `${name}: ${TAIL}`, series: mode };
      const bytes = mode === "whole" ? Math.min(blockBytes, QUEUED_BYTES) : blockBytes;
      const block = countOf(endpoint, mode, rate * blockSeconds, bytes);
      lanes.push({
        labels: hasLatency ? [labels, tail] : [labels],
        async sample() {
          const before = await server.usage("flush");
          const { latencies } = await server.load({ endpoint: name, count: block, rate });
          const after = await server.usage("flush");
          await server.verify();
          const cpuSeconds = (after.cpuSeconds - before.cpuSeconds) / block;
          const typical = { seconds: median(latencies), cpuSeconds, peakRss: after.rss };
          return hasLatency ? [typical, { seconds: percentile(latencies, 0.999) }] : [typical];
        },
      });
    }
  }
  if (Object.values(modes).some((own) => own.includes("whole"))) {
    lanes.push({
      labels: [LEAST, SCAN, PARSE].map((name) => ({ name, table: "least work", series: name })),
      sample: () => runJob<Sample[]>(LEAST_WORK, { count: LEAST_COUNT }, { signal }),
    });
  }
  const sampled = await sampleLanes(lanes, { rounds, budget, signal }, (of) => [
    ...cpuTargets(modes, of),
    ...(hasLatency ? latencyTargets(modes, of) : []),
  ]);

  const find = lookup(sampled.measurements);
  const pairs = Object.entries(hasLatency && rounds > 1 ? modes : {}).flatMap(([name, own]) =>
    own
      .filter((mode) => mode !== "disabled")
      .map((mode) => {
        const [base, head] = [find(nameOf(name, "disabled")), find(nameOf(name, mode))];
        return pairOf(`${name}: ${mode} to disabled`, base, head);
      }),
  );
  const notes = [
    `Requests a second, in every mode: ${rates.join(", ")}. That is half of what the slowest mode can answer and store; whole bodies come in blocks of 16 MB at most.`,
    "A sample is the median latency of a block, or its 99.9th percentile (of fewer than 1,000 requests: about the slowest), from when each request was to be sent; CPU time is that of the server for each request, until what it recorded is stored. Clients, server and store share the cores.",
    "`control` is the server without a recorder once more: its difference is noise.",
  ];
  return { ...sampled, pairs, notes };
}

/** Requests a second that a server answers and stores, from as many connections as the load has. */
async function capacityOf(
  server: RecordedServer,
  endpoint: string,
  count: number,
): Promise<number> {
  const { seconds } = await server.load({ endpoint, count });
  const start = performance.now();
  await server.usage("flush");
  return count / (seconds + (performance.now() - start) / 1000);
}

/** Of both bodies, if there is a recorder. */
function recordedBytes({ answer, body = "" }: Endpoint, mode: Mode): number {
  const most = mode === "whole" ? Infinity : BODY_BYTES;
  return Math.min(answer().length, most) + Math.min(body.length, most);
}
