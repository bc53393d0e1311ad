/** Requests that the gateway makes to its store, counted by a proxy between them. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Tally, countingProxy, newTally, requestsOf } from "../../compare/round/counting.ts";
import { expectBytes, randomContent, sha256 } from "../../harness/content.ts";
import type { Findings } from "../../harness/results.ts";
import { exactTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { Scratch } from "../../object-store/scratch.ts";
import type { Counter, Target } from "../../report/report.ts";
import type { SuiteContext } from "../../suite.ts";
import { BELOW, type Program, serve } from "./serving.ts";

/** Without a request for so long, in ms, the gateway has done what it does at its start. */
const QUIET_MS = 300;

const SIZES: readonly (readonly [name: string, bytes: number])[] = [
  ["4 KiB", 4096],
  ["1 MiB", 2 ** 20],
  ["10 MB", 10e6],
];
/** What each operation may cost. */
const EXACTLY: Readonly<Record<string, number>> = {
  "PUT of 4 KiB": 1,
  "PUT of 1 MiB": 1,
  "GET of 4 KiB": 1,
  "GET of 1 MiB": 1,
  HEAD: 0,
  LIST: 0,
};

export async function counted(
  { at }: Scratch,
  program: Program,
  { store, signal }: SuiteContext,
): Promise<Findings> {
  const tally = newTally();
  await using proxy = countingProxy(store!.endpoint, tally);
  at(`counted/${BELOW}`);
  const behind = { ...at("counted"), endpoint: proxy.endpoint };
  await using gateway = await serve({ ...program, store: behind, signal });
  const s3 = bareS3(gateway.access);
  // Binds the catalog to the store.
  const first = randomContent(1);
  await s3.put("first", first, sha256(first));
  const counters: Counter[] = [];
  const targets: Target[] = [];
  let before = await settled(tally);
  const count = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const result = await work();
    const after = await settled(tally);
    const requests = after - before;
    before = after;
    counters.push({ name: `${name}: requests`, value: requests, unit: "count" });
    const exactly = EXACTLY[name];
    if (exactly !== undefined) {
      const bound = { least: exactly, most: exactly };
      targets.push(exactTarget(`${name}: requests to the store`, requests, "count", bound));
    }
    return result;
  };
  for (const [size, length] of SIZES) {
    const content = randomContent(length);
    const hash = sha256(content);
    const back = new Uint8Array(length);
    await count(`PUT of ${size}`, () => s3.put(size, content, hash));
    const got = await count(`GET of ${size}`, () => s3.get(size, back));
    expectBytes(back.subarray(0, got), hash);
  }
  const head = await count("HEAD", () => s3.head("1 MiB"));
  if (head.get("content-length") !== String(2 ** 20)) throw new Error("HEAD has a wrong length");
  const names = await count("LIST", () => s3.list(""));
  if (names.length !== 1 + SIZES.length) throw new Error("LIST has wrong names");
  return { counters, targets };
}

/** Requests so far, once the gateway makes no more. */
async function settled(tally: Tally): Promise<number> {
  for (;;) {
    const before = requestsOf(tally);
    await sleep(QUIET_MS);
    if (requestsOf(tally) === before) return before;
  }
}
