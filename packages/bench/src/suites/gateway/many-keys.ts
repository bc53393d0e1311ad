/** A catalog with very many keys: how long a gateway takes to start, and to answer listings. */
import { join } from "node:path";
import { type Findings, measurementOf } from "../../harness/results.ts";
import { timeTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { Scratch } from "../../object-store/scratch.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { IN_FOLDERS, expectNames, fillCatalog, folderPageOf, pageOf } from "./keys.ts";
import { BELOW, type Program, serve } from "./serving.ts";

const STARTS = 5;
/** Pages of keys that are listed after each start, and as many pages of folders. */
const LISTS = 40;
/** Seconds. A page of folders is a seek for each of them: a scan of their keys would take over 100 ms. */
const LIST_MOST = 0.005;
const FOLDERS_MOST = 0.02;
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
  await fillCatalog(catalog, "", count, IN_FOLDERS);
  log(`${count} keys in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  const random = seededRandom(seed);
  const starts: number[] = [];
  const lists: number[] = [];
  const folderLists: number[] = [];
  for (let round = 0; round < (quick ? 1 : STARTS); round++) {
    const options = { ...program, store: at("many-keys"), catalog, signal };
    await using gateway = await serve(options);
    starts.push(gateway.startSeconds);
    const s3 = bareS3(gateway.access);
    for (let i = 0; i < LISTS; i++) {
      const page = pageOf(count, random, IN_FOLDERS);
      const folders = folderPageOf(count, random);
      const begin = performance.now();
      const names = await s3.list(page.after);
      const middle = performance.now();
      const found = await s3.list(folders.after, "/");
      const end = performance.now();
      lists.push((middle - begin) / 1000);
      folderLists.push((end - middle) / 1000);
      expectNames(names, page);
      expectNames(found, folders);
    }
  }
  const measured = (name: string, samples: readonly number[]) =>
    measurementOf(
      { name, series: name },
      samples.map((seconds) => ({ seconds })),
    );
  const among = `among ${count} keys`;
  const list = measured(`LIST ${among}`, lists);
  const folderList = measured(`LIST of folders ${among}`, folderLists);
  const begun = measured(`start ${among}`, starts);
  return {
    measurements: [list, folderList, begun],
    targets: [
      timeTarget(`LIST of a page ${among}: time`, list, { most: LIST_MOST }),
      timeTarget(`LIST of a page of folders ${among}: time`, folderList, {
        most: FOLDERS_MOST,
        goal: LIST_MOST,
      }),
      timeTarget(`start ${among}: time`, begun, { most: START_MOST }),
    ],
  };
}
