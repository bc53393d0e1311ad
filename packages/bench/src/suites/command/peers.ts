/**
 * Stores one file in an object store and fetches it with the command idk, rclone crypt, age piped to the
 * AWS command line, and restic. Each run is a fresh process with default settings, timed including its
 * start-up. Files are read from the page cache and written to the same disk.
 */
import { randomBytes } from "node:crypto";
import { type Setting, contenders, purge } from "../../../thirdparty/contenders.ts";
import { sizeName } from "../../harness/content.ts";
import { type Program, runAside } from "../../harness/processes.ts";
import { type Findings, type Lookup, labelsFor, together } from "../../harness/results.ts";
import { type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { ratioTarget } from "../../harness/targets.ts";
import type { Measurement, Target } from "../../report/report.ts";
import type { SuiteContext } from "../../suite.ts";
import { peersFrom } from "./peer-programs.ts";
import { type Places, laneOf, peakTarget, withLargeFile } from "./programs.ts";

const MIB = 2 ** 20;

/** The least speed of a put relative to each other program, and the goal. */
const PUTS = [
  { name: "rclone crypt", least: 1.3, goal: 2 },
  { name: "age | aws s3 cp", least: 0.85, goal: 1 },
  { name: "restic", least: 1.6, goal: 2 },
];
/** The same of a get, relative to the fastest. */
const GET = { least: 0.8, goal: 1.2 };

export async function peers(context: SuiteContext): Promise<Findings> {
  const sizes = context.sizes ?? [(context.quick ? 4 : 500) * MIB];
  const found = await Array.fromAsync(sizes, (size) => measureSize(size, context));
  const { IDK_PEER_VERSIONS: versions = "of unknown versions" } = context.env;
  const notes = [
    `The programs: ${versions}. rclone plain does not encrypt: it shows what the same client costs.`,
    "A get ends when the fetched file is on disk. idk syncs files itself; for programs that do not, a sync follows. The times without it are listed too.",
  ];
  return together([...found, { notes }]);
}

function measureSize(
  size: number,
  { quick, iterations, signal, env, log, store }: SuiteContext,
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
        const labels = ["put", "get", "get without sync"].map((way) => {
          const series = `${way}, ${contender.name}`;
          return Object.assign(labelsFor(size)(series), {
            name: nameOf(way, contender.name, size),
          });
        });
        return laneOf(contender, labels, file, places);
      });
      const rounds = iterations ?? (quick ? 1 : 5);
      log(`${sizeName(size)}, ${rounds} rounds of ${all.length} programs`);
      const sampling = { rounds, warmups: quick ? 0 : 1, signal };
      return await sampleLanes(lanes, sampling, (of) => targetsFor(size, of));
    } finally {
      await places.clear(below).catch(() => undefined);
    }
  });
}

function nameOf(way: string, program: string, size: number): string {
  return `${way} ${program}, ${sizeName(size)}`;
}

/** idk relative to the programs that encrypt. */
export function targetsFor(size: number, of: Lookup): Target[] {
  const [put, get] = [of(nameOf("put", "idk", size)), of(nameOf("get", "idk", size))];
  const gets = PUTS.map((peer) => of(nameOf("get", peer.name, size)));
  const seconds = ({ distribution }: Measurement) => distribution.p50;
  const fastest = gets.reduce((a, b) => (seconds(b) < seconds(a) ? b : a));
  const relative = `${get.name}: speed relative to the fastest that encrypts`;
  return [
    ...PUTS.map(({ name: peer, ...bound }) => {
      const sides = { of: of(nameOf("put", peer, size)), to: put };
      return ratioTarget(`${put.name}: speed relative to ${peer}`, sides, bound);
    }),
    ratioTarget(relative, { of: fastest, to: get }, GET),
    ...[put, get].map(peakTarget),
  ];
}
