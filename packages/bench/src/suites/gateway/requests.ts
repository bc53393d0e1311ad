/** Small requests from 16 connections, and listings: the gateway beside its store. */
import { inLanes } from "../../harness/interleave.ts";
import { watchLoad } from "../../harness/machine.ts";
import { type Sampled, type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { type Bound, ratioTarget, unlessBusy } from "../../harness/targets.ts";
import { type BareS3, bareS3 } from "../../object-store/bare-s3.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { passesOf, randomContents, tasksOf } from "../object-store/passes.ts";
import { CONTENT, PAGE, type Page, type Wanted, anyNames, expectNames, pageOf } from "./keys.ts";
import { BUDGET, ROUNDS, type Sides } from "./sides.ts";

const SIZE = 4096;
const CONNECTIONS = 16;
/** Of a sample. */
export const REQUESTS = 160;
export const PAGES = 5;

const SIDES = ["gateway", "direct"] as const;
const WHATS = ["put", "get", "head", "head one by one", "list"] as const;
type What = (typeof WHATS)[number];

/** The least share of the rate of the store itself. HEAD and LIST are answered by the catalog alone. */
const SHARE: Readonly<Record<What, Bound>> = {
  put: { least: 0.3, goal: 0.5 },
  get: { least: 0.25, goal: 0.6 },
  head: { least: 0.6, goal: 1 },
  "head one by one": { least: 1 },
  list: { least: 1 },
};
/** The store syncs what it is sent, and reads folders that it lists: how long that takes depends on its disk. */
const OF_THE_DISK: ReadonlySet<What> = new Set(["put", "list"]);

/**
 * @param small where objects are put
 * @param full where there are keys, on both sides the same
 * @param count of those keys, more than a page
 */
export function requests(
  small: Sides,
  full: Sides,
  count: number,
  { quick, iterations, seed, signal }: SuiteContext,
): Promise<Sampled> {
  const random = seededRandom(seed);
  const contents = randomContents(SIZE, quick ? 32 : REQUESTS);
  const heads = anyNames(count, quick ? 32 : REQUESTS, random);
  const pages = Array.from({ length: PAGES }, () => pageOf(count, random));
  const load = watchLoad(small.pid);
  const tasks = SIDES.flatMap((who): Task[] => {
    const passes = passesOf(bareS3(small[who]), SIZE);
    const { put, get } = tasksOf(passes, contents, { who, inFlight: CONNECTIONS });
    const s3 = bareS3(full[who]);
    return [
      { ...put, prepare: load.look },
      get,
      headTask(`head, ${who}`, s3, heads, CONNECTIONS),
      headTask(`head one by one, ${who}`, s3, heads, 1),
      listTask(who, s3, pages),
    ];
  });
  const rounds = iterations ?? (quick ? 1 : ROUNDS);
  return sampleInterleaved(tasks, { rounds, budget: BUDGET, signal }, (of) =>
    WHATS.map((what) => {
      const ratio = { of: of(`${what}, direct`), to: of(`${what}, gateway`) };
      const target = ratioTarget(titleOf(what, count), ratio, SHARE[what]);
      const judged = unlessBusy(target, load.isBusy());
      return OF_THE_DISK.has(what) ? Object.assign(judged, { ownBoundOnly: true }) : judged;
    }),
  );
}

function titleOf(what: What, count: number): string {
  const names = {
    put: "4 KiB PUT",
    get: "4 KiB GET",
    head: `HEAD among ${count} keys`,
    "head one by one": `HEAD among ${count} keys, one by one`,
    list: `LIST of ${PAGE} among ${count} keys`,
  };
  return `${names[what]}: rate to that of the store itself`;
}

function headTask(
  name: string,
  s3: BareS3,
  wanted: Wanted,
  connections: number,
): Task<Promise<string[]>> {
  return {
    name,
    series: name,
    async run() {
      const found: string[] = [];
      await inLanes([...wanted.names.entries()], connections, async ([i, name]) => {
        const length = (await s3.head(name)).get("content-length");
        if (length === String(CONTENT.length)) found[i] = name;
      });
      return found;
    },
    check: (found) => expectNames(found, wanted),
  };
}

/** Listings one after the other, each from another key on. */
function listTask(who: string, s3: BareS3, pages: readonly Page[]): Task<Promise<string[][]>> {
  return {
    name: `list, ${who}`,
    series: `list, ${who}`,
    async run() {
      const found: string[][] = [];
      for (const { after } of pages) found.push(await s3.list(after));
      return found;
    },
    check(found) {
      for (const [i, page] of pages.entries()) expectNames(found[i]!, page);
    },
  };
}
