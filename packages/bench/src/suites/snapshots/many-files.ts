/** Folders of many files to back up, changes in them, and the least work with them. */
import { lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bounds, boundsFor } from "../../harness/bounds.ts";
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

/** An object with the contents of files. */
export interface BarePack {
  readonly name: string;
  readonly paths: readonly string[];
}

/** Bounds by the number of files in a pack: the last one has fewer. */
async function boundsOf(packs: readonly BarePack[]): Promise<(pack: BarePack) => Bounds> {
  const bounds = new Map<number, Bounds>();
  for (const { paths } of [packs[0], packs.at(-1)].filter((pack) => pack !== undefined)) {
    bounds.set(paths.length, await boundsFor(paths.length * FILE_SIZE));
  }
  return ({ paths }) => bounds.get(paths.length)!;
}

/** Reads, hashes and seals all files, and sends them by bare requests. */
export async function send(source: string, access: ObjectStoreAccess): Promise<BarePack[]> {
  const [s3, paths, each] = [bareS3(access), list(source), PACK / FILE_SIZE];
  const packs = Array.from({ length: Math.ceil(paths.length / each) }, (_, i) => ({
    name: freshName(),
    paths: paths.slice(i * each, (i + 1) * each),
  }));
  const boundsFrom = await boundsOf(packs);
  await inLanes(packs, IN_FLIGHT, async (pack) => {
    const contents = pack.paths.map((path) => readFileSync(join(source, path)));
    for (const content of contents) sha256(content);
    const bytes = Buffer.concat(contents);
    boundsFrom(pack).seal();
    await s3.put(pack.name, bytes, sha256(bytes));
  });
  return packs;
}

/**
 * Fetches what was sent by bare requests, hashes and opens it, and hashes and writes all files.
 *
 * @throws Error if an object has another length
 */
export async function receive(
  packs: readonly BarePack[],
  access: ObjectStoreAccess,
  target: string,
): Promise<void> {
  const [s3, boundsFrom] = [bareS3(access), await boundsOf(packs)];
  const folders = new Set(packs.flatMap(({ paths }) => paths.map((path) => dirname(path))));
  for (const folder of folders) mkdirSync(join(target, folder));
  const buffers = Array.from({ length: IN_FLIGHT }, () => Buffer.alloc(PACK));
  await inLanes(packs, IN_FLIGHT, async (pack, lane) => {
    const buffer = buffers[lane]!;
    const length = await s3.get(pack.name, buffer);
    if (length !== pack.paths.length * FILE_SIZE) throw new Error(`a pack has ${length} bytes`);
    sha256(buffer.subarray(0, length));
    boundsFrom(pack).open();
    for (const [index, path] of pack.paths.entries()) {
      const content = buffer.subarray(index * FILE_SIZE, (index + 1) * FILE_SIZE);
      sha256(content);
      writeFileSync(join(target, path), content, { flag: "wx" });
    }
  });
}
