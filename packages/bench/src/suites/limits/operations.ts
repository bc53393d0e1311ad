/** The operations whose limits are measured, by the command, with a content and with next to none. */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { type IdkBackups, idkBackups } from "../../../thirdparty/backup-programs.ts";
import { writeRandomFile } from "../../harness/files.ts";
import { type Program, type Ran, publishedCommand, run } from "../../harness/processes.ts";
import { type Scratch, clearAll } from "../../object-store/scratch.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import { commandOf, minioOf } from "../command/programs.ts";
import { expectEqual, makeFiles } from "../snapshots/many-files.ts";
import type { PartName } from "./parts.ts";

/** What each operation has to do. A verification opens all that it reads; a restore syncs nothing. */
export const OPERATIONS = {
  put: ["file read", "SHA-256", "secretbox, sealed", "bare PUTs"],
  get: ["bare GETs", "SHA-256", "secretbox, opened", "file written and synced"],
  verify: ["bare GETs", "SHA-256", "secretbox, opened"],
  restore: ["bare GETs", "SHA-256", "secretbox, opened", "files written"],
} as const satisfies Readonly<Record<string, readonly PartName[]>>;

export type Operation = keyof typeof OPERATIONS;

/** Of the content that shows what an operation takes in any case. */
const TINY = 1024;
/** Bytes of each file that is restored. */
export const FILE_SIZE: number = 2 ** 20;

type Way = "large" | "tiny";

/** Starts a program and measures it. */
export type Start = (program: Program) => Promise<Ran>;

export interface Operations {
  /** The file of the size. */
  readonly source: string;
  /**
   * Does all operations, each with what the one before has stored.
   *
   * @throws Error if one fails, or returns other bytes
   */
  run(way: Way, start: Start): Promise<Readonly<Record<Operation, Ran>>>;
}

/**
 * Makes a file of a size and a folder of files of as many bytes, and backs the folder up; and the same with
 * 1 KiB.
 *
 * @param folder for all files
 * @param scratch for all objects
 */
export async function operationsOver(
  store: ObjectStoreAccess,
  size: number,
  folder: string,
  scratch: Scratch,
  { seed, signal }: { readonly seed: number; readonly signal: AbortSignal },
): Promise<Operations> {
  const script = await publishedCommand();
  const { env, url } = minioOf(store);
  const idk = await commandOf(script, folder, await generateIdentity(), env);
  const contents = { large: join(folder, "large"), tiny: join(folder, "tiny") };
  await writeRandomFile(contents.large, size);
  await writeRandomFile(contents.tiny, TINY);
  const folders = { large: join(folder, "many"), tiny: join(folder, "one") };
  await mkdir(folders.tiny);
  await writeFile(join(folders.tiny, "file"), randomBytes(TINY));
  await makeFiles(folders.large, size / FILE_SIZE, seededRandom(seed), { size: FILE_SIZE });

  const backUp = async (way: Way): Promise<IdkBackups> => {
    const [home, at] = [await mkdtemp(join(folder, "home-")), `backups-${way}`];
    scratch.at(`${at}/repo`);
    const backups = await idkBackups(script, {
      source: folders[way],
      home,
      access: scratch.at(at),
    });
    await run({ ...backups.backup, signal });
    return backups;
  };
  const backups = { large: await backUp("large"), tiny: await backUp("tiny") };
  const [fetched, restored] = [join(folder, "fetched"), join(folder, "restored")];

  return {
    source: contents.large,
    async run(way, start) {
      const blobs = scratch.at(`blobs-${way}`);
      const at = url(blobs.prefix);
      for (const path of [fetched, restored]) await rm(path, { recursive: true, force: true });
      await run({ argv: ["sync"] });
      const put = await start(idk.put(contents[way], at));
      const address = put.stdout.trim();
      const get = await start(idk.get(address, at, fetched));
      await run({ argv: ["cmp", "--", contents[way], fetched] });
      const verify = await start(idk.verify(address, at));
      if (!verify.stdout.includes('"deep":true')) throw new Error(`not verified: ${verify.stdout}`);
      const restore = await start(backups[way].restore(restored));
      await expectEqual(folders[way], restored);
      await clearAll(blobs);
      return { put, get, verify, restore };
    },
  };
}
