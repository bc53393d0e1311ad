/** Many files of 4 KiB in an object store by the command: stored, fetched, listed and verified. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { type Program, publishedCommand, runAside } from "../../harness/processes.ts";
import type { Lane } from "../../harness/sampling.ts";
import { type Bound, ratioTarget, timeTarget } from "../../harness/targets.ts";
import type { Lookup } from "../../harness/results.ts";
import { type Scratch, clearAll } from "../../object-store/scratch.ts";
import type { Target } from "../../report/report.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { commandOf, minioOf, peakTarget } from "../command/programs.ts";
import { FILE_SIZE, expectEqual, makeFiles } from "../snapshots/many-files.ts";

/** What is measured, and the bare requests that do as much. */
const COMMANDS = {
  put: "put",
  get: "get",
  "ls --long": "get",
  "verify --server-checksums": "head",
} as const;
type Way = keyof typeof COMMANDS;
const WAYS = Object.keys(COMMANDS) as Way[];

/** From here on, the start of the command hardly counts, and folders would take too long to be synced. */
export const MANY = 10_000;
/** The least share of the rate of bare requests. */
const SHARE: Bound = { least: 0.5, goal: 0.7 };
/** Seconds for each object that is listed or verified. */
const EACH = { most: 300e-6, goal: 200e-6 };
/** Seconds for 500 objects that are 50 ms away, or fewer and nearer ones. */
const FAR = { most: 2, goal: 1, count: 500, rtt: 50 };

function nameOf(way: Way): string {
  return `${way}, command`;
}

/** @param folder for the files, below an empty folder */
export async function filesLane(
  count: number,
  folder: string,
  scratch: Scratch,
  { store, seed, signal, log }: SuiteContext,
): Promise<Lane> {
  const [source, list] = [join(folder, "source"), join(folder, "stored")];
  let round = 0;
  await makeFiles(source, count, seededRandom(seed));
  const { env, url } = minioOf(store!);
  const idk = await commandOf(await publishedCommand(), folder, await generateIdentity(), env);
  const start = (program: Program) => runAside({ ...program, signal });
  const expectLines = (text: string, part: string): void => {
    const found = text.split("\n").filter((line) => line.includes(part)).length;
    if (found !== count) throw new Error(`${found} lines instead of ${count} have ${part}`);
  };
  return {
    labels: WAYS.map((way) => {
      const name = nameOf(way);
      return { name, series: name, bytesPerOperation: count * FILE_SIZE };
    }),
    async sample() {
      log("files, by the command");
      const blobs = scratch.at("files");
      const at = url(blobs.prefix);
      // Fetched files of earlier rounds stay until the end: for minutes after an inode was deleted, ext4 without
      // a journal looks at it again for each new file (`recently_deleted` in Linux, fs/ext4/ialloc.c).
      round += 1;
      const out = join(folder, "fetched", String(round));
      const put = await start(idk.putAll(source, at));
      await writeFile(list, put.stdout);
      const get = await start(idk.getAll(list, at, out));
      await expectEqual(source, out);
      const listed = await start(idk.list(at));
      expectLines(listed.stdout, '"name":');
      const verified = await start(idk.verifyChecksums(at));
      expectLines(verified.stdout, '"attested":true');
      await clearAll(blobs);
      return [put, get, listed, verified];
    },
  };
}

/** @param rtt milliseconds to the store, if it is not near */
export function filesTargets(count: number, of: Lookup, rtt: number | undefined): Target[] {
  const peaks = WAYS.map((way) => peakTarget(of(nameOf(way))));
  if (rtt !== undefined) {
    const scale = Math.max(1, (count / FAR.count) * (rtt / FAR.rtt));
    const times = (["put", "get"] as const).map((way) =>
      timeTarget(`${nameOf(way)}: time`, of(nameOf(way)), {
        most: scale * FAR.most,
        goal: scale * FAR.goal,
      }),
    );
    return [...times, ...peaks];
  }
  if (count < MANY) return peaks;
  const shares = WAYS.map((way) => {
    const sides = { of: of(`${COMMANDS[way]}, bare requests`), to: of(nameOf(way)) };
    return ratioTarget(`${nameOf(way)}: rate to that of bare requests`, sides, SHARE);
  });
  const times = (["ls --long", "verify --server-checksums"] as const).map((way) =>
    timeTarget(`${nameOf(way)}: time`, of(nameOf(way)), {
      most: count * EACH.most,
      goal: count * EACH.goal,
    }),
  );
  return [...shares, ...times, ...peaks];
}
