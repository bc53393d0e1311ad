/**
 * Backups of many small files to an object store by the command, as processes: exactly how many requests
 * and bytes each takes, and the time relative to the least that has to be done with the same files.
 */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { idkBackups } from "../../../thirdparty/backup-programs.ts";
import { countingProxy, newTally, requestsOf } from "../../compare/round/counting.ts";
import { withFolder } from "../../harness/files.ts";
import { watchLoad } from "../../harness/machine.ts";
import { measurePeak } from "../../harness/memory.ts";
import { type Program, publishedCommand, runAside } from "../../harness/processes.ts";
import { type Findings, together } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import {
  type Bound,
  type Ratio,
  exactTarget,
  ratioTarget,
  timeTarget,
  unlessBusy,
} from "../../harness/targets.ts";
import { type Scratch, openBackend, withScratch } from "../../object-store/scratch.ts";
import type { Counter, Target } from "../../report/report.ts";
import { median } from "../../statistics/describe.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import {
  type BarePack,
  FILE_SIZE,
  changeFiles,
  expectEqual,
  list,
  makeFiles,
  receive,
  send,
} from "./many-files.ts";
import { neededPacks } from "./needed-packs.ts";

const MIB = 2 ** 20;
const PACK = 4 * MIB;
/** The goal, and the bound that every command has until backups reach it. */
const PEAK = { goal: 200 * MIB, most: 256 * MIB };
/** Records are padded, and hardly change their lengths; the heads of responses differ between servers. */
const bytesTolerance = (value: number, requests: number): number =>
  0.01 + (64 * requests) / Math.max(value, 1);
/** What the same command needs at its peak varies by more from run to run: the median of as many is judged. */
const PEAK_ROUNDS = 3;
const PEAK_TOLERANCE = 0.1;
/** A file in the middle. */
const ONE = "2/50";

interface Setting extends SuiteContext {
  readonly scratch: Scratch;
  readonly script: string;
  readonly folder: string;
  readonly source: string;
  readonly count: number;
}

export async function snapshots(context: SuiteContext): Promise<Findings> {
  const count = Number(context.options?.["files"] ?? (context.quick ? 500 : 10_000));
  const script = await publishedCommand();
  return withScratch(context.store, "snapshots", (scratch) =>
    withFolder(async (folder) => {
      const source = join(folder, "source");
      await makeFiles(source, count, seededRandom(context.seed));
      const setting = { ...context, scratch, script, folder, source, count };
      const note = `${count} files of 4 KiB, in folders of 100. The command includes its start-up. A proxy counts requests in a run of its own.`;
      return together([await timed(setting), await counted(setting), { notes: [note] }]);
    }),
  );
}

const COUNTED = ["requests", "GETs", "bytes sent", "bytes received"] as const;
type Counts = Readonly<Record<(typeof COUNTED)[number], number>>;
type Limits = Partial<Counts>;

interface Step {
  readonly name: string;
  readonly limits: Limits;
  readonly counts: Counts;
  readonly peakRss: number;
}

/**
 * Requests, bytes and peak memory of each step. Of several rounds, the most requests and bytes count, and of
 * peaks the most for the limit and the median for the baseline.
 */
async function counted(setting: Setting): Promise<Findings> {
  const rounds: Step[][] = [];
  while (rounds.length < (setting.quick ? 1 : PEAK_ROUNDS)) {
    rounds.push(await countedSteps(setting, rounds.length));
  }
  const [counters, targets]: [Counter[], Target[]] = [[], []];
  for (const [index, { name, limits }] of rounds[0]!.entries()) {
    const steps = rounds.map((round) => round[index]!);
    const requests = Math.max(...steps.map(({ counts }) => counts.requests));
    for (const what of COUNTED) {
      const value = Math.max(...steps.map(({ counts }) => counts[what]));
      const unit = what.startsWith("bytes") ? "bytes" : "count";
      const tolerance = unit === "bytes" ? bytesTolerance(value, requests) : 0;
      counters.push({ name: `${name}: ${what}`, value, unit, tolerance });
      const most = limits[what];
      if (most === undefined) continue;
      targets.push(exactTarget(`${name}: ${what} at most`, value, unit, { most }));
    }
    const peaks = steps.map(({ peakRss }) => peakRss);
    const peak = { name: `${name}: peak memory`, value: median(peaks), unit: "bytes" } as const;
    counters.push({ ...peak, tolerance: PEAK_TOLERANCE, peak: true });
    targets.push(exactTarget(`${peak.name} at most`, Math.max(...peaks), "bytes", PEAK));
  }
  return { counters, targets };
}

/** A backup of all files, its changes, and what is done with it, in a repository of its own. */
async function countedSteps(setting: Setting, round: number): Promise<Step[]> {
  const at = `counted-${round}`;
  const { scratch, script, folder, source, count, store, seed, signal, log } = setting;
  const tally = newTally();
  await using proxy = countingProxy(store!.endpoint, tally);
  const access = { ...scratch.at(at), endpoint: proxy.endpoint };
  scratch.at(`${at}/repo`);
  // Of its own in each round: what a round before it has written would not be a change.
  const random = seededRandom(seed + 1 + round);
  const home = mkdtempSync(join(folder, "home-"));
  const idk = await idkBackups(script, { source, home, access });
  const steps: Step[] = [];
  const step = async (name: string, program: Program, limits: Limits) => {
    log(`${at}: ${name}`);
    // The folders above the source are in a snapshot, too: let them change each time.
    await withFolder(async () => {});
    const before = { ...tally };
    const { peakRss } = await runAside({ ...program, signal });
    const since = (key: keyof typeof tally): number => tally[key] - before[key];
    const counts = {
      requests: requestsOf(tally) - requestsOf(before),
      GETs: since("GET"),
      "bytes sent": since("bytesSent"),
      "bytes received": since("bytesReceived"),
    };
    steps.push({ name, limits, counts, peakRss });
  };

  const packs = Math.ceil((count * FILE_SIZE) / PACK);
  await step("first backup", idk.backup, { requests: packs + 27 });
  await step("nothing changed", idk.backup, { requests: 8, "bytes sent": MIB });
  for (const [spread, extra] of [
    ["clustered", 2 * MIB] as const,
    ["scattered", 7 * MIB] as const,
  ]) {
    const sent = changeFiles(source, spread, random) + extra;
    await step(`1 % changed, ${spread}`, idk.backup, { requests: 20, "bytes sent": sent });
  }
  const restored = join(home, "restored");
  // Past the proxy, and by the folders of the snapshot, whatever a restore fetches.
  const needed = await neededPacks(openBackend(scratch.at(`${at}/repo`)), idk.identity, "home");
  await step("restore", idk.restore(restored), { GETs: 1.02 * needed + 10 });
  await expectEqual(source, restored);
  // The metadata packs of its folder and of the folders above it, which are written last.
  await step("one file", idk.cat(ONE), { requests: 6 + 2, "bytes received": 10 * MIB });
  await step("forget", idk.forget(1), {});
  await step("prune", idk.prune, { "bytes received": MIB });
  return steps;
}

/**
 * The most that each may take, in multiples of the time of the least work. Medians on two cores: 3.1 to 5.3,
 * 9 to 12 (25 if all files are read again), 2.5. Where nothing has changed, CPU time is judged, because other
 * processes hardly disturb it. They disturb the others, whose threads need both cores while the least work
 * needs one.
 *
 * That of a restore fetches, opens and writes, too. To create the same files empty took 74 ms to 1.1 s on one
 * machine, as ext4 had it (docs/benchmarks.md), and a restore 1.5 to 9 times as long: no bound for that would
 * catch anything.
 */
const TIMES: Readonly<Record<string, Bound & Pick<Ratio, "kind"> & { readonly work?: string }>> = {
  "first backup": { most: 6 },
  "nothing changed": { most: 16, kind: "cpu" },
  restore: { most: 3.5, goal: 2, work: "fetching, opening and writing the same files" },
};
const ONE_FILE = "one file";
/** Seconds. Alone, the median is 0.23; while other processes use the cores, it is an upper limit only. */
const ONE_FILE_TIME: Bound = { most: 0.5, goal: 0.15 };

async function timed(setting: Setting): Promise<Findings> {
  const { scratch, script, folder, source, quick, signal, iterations, log } = setting;
  const labels = (names: readonly string[]) => names.map((name) => ({ name, series: name }));
  const ways = Object.entries(TIMES);
  // Kept to the end: ext4 without a journal makes files slowly while many were deleted just before.
  const fresh = (): string => mkdtempSync(join(folder, "round-"));
  let round = 0;
  const load = watchLoad();
  const command: Lane = {
    labels: labels([...ways.map(([way]) => way), ONE_FILE]),
    async sample() {
      const at = `round-${round++}`;
      log(at);
      scratch.at(`${at}/repo`);
      const home = fresh();
      const idk = await idkBackups(script, { source, home, access: scratch.at(at) });
      const restored = join(home, "restored");
      const samples = [];
      for (const program of [idk.backup, idk.backup, idk.restore(restored), idk.cat(ONE)]) {
        samples.push(await runAside({ ...program, signal }));
      }
      await expectEqual(source, restored);
      return samples;
    },
  };
  const least: Lane = {
    labels: labels(ways.map(([way]) => `${way}: least work`)),
    async sample() {
      const target = fresh();
      await load.look();
      const bare = scratch.at("bare");
      let packs: BarePack[] = [];
      const samples = [
        await measurePeak(async () => {
          packs = await send(source, bare);
        }),
        await measurePeak(async () => list(source)),
        await measurePeak(() => receive(packs, bare, target)),
      ];
      await expectEqual(source, target);
      return samples;
    },
  };
  const sampling = { rounds: iterations ?? (quick ? 1 : 5), warmups: quick ? 0 : 1, signal };
  return sampleLanes([command, least], sampling, (of) => {
    const busy = load.isBusy();
    return [
      ...ways.map(([way, { kind, work = "the least work", ...bound }]) => {
        const sides = { of: of(way), to: of(`${way}: least work`), kind };
        const title = `${way}: ${kind === "cpu" ? "CPU time" : "time"} to that of ${work}`;
        const target = ratioTarget(title, sides, bound);
        return kind === "cpu" ? target : unlessBusy(target, busy);
      }),
      unlessBusy(timeTarget(`${ONE_FILE}: time`, of(ONE_FILE), ONE_FILE_TIME), busy),
    ];
  });
}
