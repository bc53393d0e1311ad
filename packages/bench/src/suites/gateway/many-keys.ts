/** A catalog with very many keys: how long a gateway takes to start, and to answer a listing. */
import { join } from "node:path";
import { type Findings, measurementOf } from "../../harness/results.ts";
import { timeTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { Scratch } from "../../object-store/scratch.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { expectNames, fillCatalog, pageOf } from "./keys.ts";
import { BELOW, type Program, serve } from "./serving.ts";

const STARTS = 5;
/** Of each start. */
const LISTS = 40;
/** Seconds. */
const LIST_MOST = 0.005;
const START_MOST = 1;

/** @param count of keys */
export async function manyKeys(
  { at }: Scratch,
  program: Program,
  count: number,
  { quick, seed, signal, log }: SuiteContext,
): Promise<Findings> {
  at(`many-keys/${BELOW}`);
  const catalog = join(program.folder, "many-keys");
  const start = performance.now();
  await fillCatalog(catalog, "", count);
  log(`${count} keys in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  const random = seededRandom(seed);
  const starts: number[] = [];
  const lists: number[] = [];
  for (let round = 0; round < (quick ? 1 : STARTS); round++) {
    const options = { ...program, store: at("many-keys"), catalog, signal };
    await using gateway = await serve(options);
    starts.push(gateway.startSeconds);
    const s3 = bareS3(gateway.access);
    for (let i = 0; i < LISTS; i++) {
      const page = pageOf(count, random);
      const before = performance.now();
      const names = await s3.list(page.after);
      lists.push((performance.now() - before) / 1000);
      expectNames(names, page);
    }
  }
  const measured = (name: string, samples: readonly number[]) =>
    measurementOf(
      { name, series: name },
      samples.map((seconds) => ({ seconds })),
      random,
    );
  const among = `among ${count} keys`;
  const [list, begun] = [measured(`LIST ${among}`, lists), measured(`start ${among}`, starts)];
  return {
    measurements: [list, begun],
    targets: [
      timeTarget(`LIST of a page ${among}: time`, list, { most: LIST_MOST }, random),
      timeTarget(`start ${among}: time`, begun, { most: START_MOST }, random),
    ],
  };
}
