/** Folders of many files to back up, changes in them, and the least work with them. */
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { boundsFor } from "../../harness/bounds.ts";
import { freshName, noise, sha256 } from "../../harness/content.ts";
import { inLanes } from "../../harness/interleave.ts";
import { run } from "../../harness/processes.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { Random } from "../../statistics/random.ts";
import type { ObjectStoreAccess } from "../../suite.ts";

const MIB = 2 ** 20;
export const FILE_SIZE = 4096;
/** Files of a folder. */
const GROUP = 100;
/** Bytes of a request, and requests in flight, of `send`. */
const PACK = 4 * MIB;
const IN_FLIGHT = 4;

/** Makes files, by default of 4 KiB and one hundred in each folder, and waits until they have settled. */
export async function makeFiles(
  source: string,
  count: number,
  random: Random,
  { size = FILE_SIZE, group = GROUP } = {},
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const folder = join(source, String(Math.floor(index / group)));
    if (index % group === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, String(index % group)), noise(size, random));
  }
  // A file that was just written is not believed unchanged, and read twice.
  await run({ argv: ["sync"] });
  await sleep(2100);
}

/** Writes 1 % of the files anew, all of every hundredth folder or one of each; returns their bytes. */
export function changeFiles(
  source: string,
  spread: "clustered" | "scattered",
  random: Random,
): number {
  let changed = 0;
  for (const [index, folder] of readdirSync(source).entries()) {
    const files = spread === "scattered" ? 1 : index % GROUP === 0 ? GROUP : 0;
    for (let i = 0; i < files; i++, changed += FILE_SIZE) {
      writeFileSync(join(source, folder, String(i)), noise(FILE_SIZE, random));
    }
  }
  return changed;
}

/** Overwrites every hundredth MiB of a file in place, and returns the bytes. */
export async function changeInPlace(path: string, random: Random): Promise<number> {
  await using file = await open(path, "r+");
  const { size } = await file.stat();
  let changed = 0;
  for (let at = 0; at < size; at += 100 * MIB, changed += MIB) {
    await file.write(noise(MIB, random), 0, MIB, at);
  }
  return changed;
}

/** @throws Error if two folders differ in names or contents */
export async function expectEqual(source: string, restored: string): Promise<void> {
  await run({ argv: ["diff", "--recursive", "--no-dereference", "--brief", source, restored] });
}

/** Asks for the attributes of all files, and returns their paths relative to the source. */
export function list(source: string): string[] {
  return readdirSync(source).flatMap((folder) =>
    readdirSync(join(source, folder)).map((name) => {
      lstatSync(join(source, folder, name), { bigint: true });
      return join(folder, name);
    }),
  );
}

/** Reads, hashes and seals all files, and sends them by bare requests. */
export async function send(source: string, access: ObjectStoreAccess): Promise<void> {
  const [s3, bounds] = [bareS3(access), await boundsFor(PACK)];
  const [paths, each] = [list(source), PACK / FILE_SIZE];
  const packs = Array.from({ length: Math.ceil(paths.length / each) }, (_, i) =>
    paths.slice(i * each, (i + 1) * each),
  );
  await inLanes(packs, IN_FLIGHT, async (pack) => {
    const contents = pack.map((path) => readFileSync(join(source, path)));
    for (const content of contents) sha256(content);
    const bytes = Buffer.concat(contents);
    bounds.seal();
    await s3.put(freshName(), bytes, sha256(bytes));
  });
}

/** Creates the same files, empty. */
export function create(source: string, target: string): void {
  for (const folder of readdirSync(source)) mkdirSync(join(target, folder));
  for (const path of list(source)) closeSync(openSync(join(target, path), "wx"));
}
