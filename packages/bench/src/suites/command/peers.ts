/**
 * Stores one file in an object store and fetches it with the command idk, rclone crypt, age piped to the
 * AWS command line, and restic. Each run is a fresh process with default settings, timed including its
 * start-up. Files are read from the page cache and written to the same disk.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Setting, contenders, purge } from "../../../thirdparty/contenders.ts";
import { sizeName } from "../../harness/content.ts";
import { type Program, runAside, runJob } from "../../harness/processes.ts";
import {
  type Findings,
  type Labels,
  type Lookup,
  type Sample,
  labelsFor,
  together,
} from "../../harness/results.ts";
import { type Lane, type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { type Bound, ratioTarget } from "../../harness/targets.ts";
import { clearAll } from "../../object-store/scratch.ts";
import type { Measurement, Target } from "../../report/report.ts";
import type { SuiteContext } from "../../suite.ts";
import type { BareTransfer } from "./bare-transfer.ts";
import { peersFrom } from "./peer-programs.ts";
import { type Places, laneOf, peakTarget, withLargeFile } from "./programs.ts";

const MIB = 2 ** 20;

/** As many chunks as the default memory allows to be in flight to a store far away. */
const FAR_IN_FLIGHT = 8;
const BARE = [4, FAR_IN_FLIGHT, 16];
const bareName = (inFlight: number): string => `bare requests, ${inFlight} in flight`;
const BARE_JOB = join(import.meta.dirname, "bare-transfer.ts");

/** The ways of all programs, and that of some. */
const WAYS = ["put", "get", "get without sync"] as const;
const PRINT = "get to standard output";

/** The speed of idk relative to another program or to bare requests: to the fastest, if there are several. */
interface Comparison {
  readonly way: (typeof WAYS)[number] | typeof PRINT;
  readonly peers: readonly string[];
  /** What the others do, if they do less. */
  readonly theirs?: Comparison["way"];
  readonly bound: Bound;
}

const CRYPT = "rclone crypt";
const AGE = "age | aws s3 cp";
const ALL_BARE = BARE.map(bareName);
const EQUAL_BARE = [bareName(FAR_IN_FLIGHT)];
/** rclone leaves what it has written to the system to sync. */
const UNSYNCED = "get without sync";

const NEAR: readonly Comparison[] = [
  { way: "put", peers: [CRYPT], bound: { least: 1.3, goal: 1.8 } },
  { way: "put", peers: [AGE], bound: { least: 0.85, goal: 1 } },
  { way: "put", peers: ["restic"], bound: { least: 1.6, goal: 2 } },
  { way: "put", peers: ALL_BARE, bound: { least: 0.6, goal: 0.75 } },
  { way: "get", peers: [CRYPT], theirs: UNSYNCED, bound: { least: 0.8, goal: 0.85 } },
  { way: "get", peers: [AGE], bound: { least: 1, goal: 1.2 } },
  { way: "get", peers: ["restic"], bound: { least: 1, goal: 1.3 } },
  { way: PRINT, peers: [CRYPT], bound: { least: 0.8, goal: 0.95 } },
];

/** With a longer round trip. */
const FAR: readonly Comparison[] = [
  { way: "put", peers: [CRYPT], bound: { least: 1.2, goal: 1.5 } },
  { way: "put", peers: EQUAL_BARE, bound: { least: 0.6, goal: 0.8 } },
  { way: "get", peers: [CRYPT], theirs: UNSYNCED, bound: { least: 0.6, goal: 0.9 } },
  { way: "get", peers: EQUAL_BARE, bound: { least: 0.35, goal: 0.5 } },
];

/** Over a line of a limited rate, which every program fills: none can be much faster than another. */
const LINE: readonly Comparison[] = [
  { way: "put", peers: [CRYPT], bound: { least: 0.8, goal: 1 } },
  ...FAR.filter(({ way, peers }) => way !== "put" || !peers.includes(CRYPT)),
];

const COMPARISONS = { near: NEAR, far: FAR, line: LINE } as const;

export async function peers(context: SuiteContext): Promise<Findings> {
  const sizes = context.sizes ?? [(context.quick ? 4 : 500) * MIB];
  const found = await Array.fromAsync(sizes, (size) => measureSize(size, context));
  const { IDK_PEER_VERSIONS: versions = "of unknown versions" } = context.env;
  const notes = [
    `The programs: ${versions}. rclone plain does not encrypt: it shows what the same client costs.`,
    "bare requests: the same file as chunks of 4 MiB, in memory and hashed before, by signed requests of one process, without its start-up; nothing is encrypted, and what is fetched is not written. Near, idk is compared with the fastest number in flight; far away, with as many as it has itself. A get to standard output ends when cat has read it.",
    "A get ends when the fetched file is on disk. idk syncs files itself; for programs that do not, a sync follows. The times without it are listed too.",
  ];
  return together([...found, { notes }]);
}

function measureSize(
  size: number,
  { quick, iterations, signal, env, log, store, rtt, rate }: SuiteContext,
): Promise<Sampled> {
  if (store === undefined) throw new Error("peers needs an object store");
  return withLargeFile(size, async (file) => {
    const start = (program: Program) => runAside({ ...program, signal });
    const setting: Setting = { ...file, store, peers: peersFrom(env), start };
    const below = `${store.prefix}peers-${randomBytes(6).toString("hex")}`;
    const places: Places = {
      next: () => `${below}/${randomBytes(6).toString("hex")}`,
      clear: (prefix) => purge(setting, prefix),
    };
    try {
      const all = await contenders(setting);
      const lanes = all.map((contender) => {
        const labels = labelsOf(
          [...WAYS, ...(contender.print ? [PRINT] : [])],
          contender.name,
          size,
        );
        return laneOf(contender, labels, file, places);
      });
      const bare = BARE.map((inFlight): Lane => {
        const name = bareName(inFlight);
        const access = { ...store, prefix: `${below}/bare/` };
        const job: BareTransfer = { source: file.source, access, inFlight };
        return {
          labels: labelsOf(["put", "get"], name, size),
          async sample() {
            const samples = await runJob<Sample[]>(BARE_JOB, job, { signal });
            await clearAll(access);
            return samples;
          },
        };
      });
      const rounds = iterations ?? (quick ? 1 : 5);
      log(`${sizeName(size)}, ${rounds} rounds of ${all.length} programs`);
      const budget = iterations === undefined ? undefined : 1;
      const sampling = { rounds, budget, warmups: quick ? 0 : 1, signal };
      const where = rate !== undefined ? "line" : rtt !== undefined ? "far" : "near";
      return await sampleLanes([...lanes, ...bare], sampling, (of) => targetsFor(size, of, where));
    } finally {
      await places.clear(below).catch(() => undefined);
    }
  });
}

function nameOf(way: string, program: string, size: number): string {
  return `${way} ${program}, ${sizeName(size)}`;
}

function labelsOf(ways: readonly string[], program: string, size: number): Labels[] {
  return ways.map((way) =>
    Object.assign(labelsFor(size)(`${way}, ${program}`), { name: nameOf(way, program, size) }),
  );
}

/** idk relative to other programs and to bare requests, and its memory. */
export function targetsFor(size: number, of: Lookup, where: keyof typeof COMPARISONS): Target[] {
  const seconds = ({ distribution }: Measurement) => distribution.p50;
  const speeds = COMPARISONS[where].map(({ way, peers, theirs = way, bound }) => {
    const fastest = peers
      .map((peer) => of(nameOf(theirs, peer, size)))
      .reduce((a, b) => (seconds(b) < seconds(a) ? b : a));
    const own = of(nameOf(way, "idk", size));
    const others = peers.length === 1 ? peers[0] : "bare requests";
    const what = `${own.name}: speed relative to ${others}`;
    return ratioTarget(
      theirs === way ? what : `${what}, which does not sync`,
      { of: fastest, to: own },
      bound,
    );
  });
  const own = ["put", "get", PRINT].map((way) => of(nameOf(way, "idk", size)));
  return [...speeds, ...own.map(peakTarget)];
}
