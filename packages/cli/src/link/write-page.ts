import { createHash } from "node:crypto";
import { lstat, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { replaceFile } from "../replace-file.ts";

/**
 * The file in which the hashes of the page's files are kept, in the format of sha256sum. They tell a
 * page that idk wrote from files of the user.
 */
const SUMS = "idk-page.sha256";

/**
 * Writes the files of a page into a folder, creating it if it does not exist, and `SUMS`. A file that is
 * there is replaced only if it is as idk wrote it, and each as a whole.
 *
 * @param force whether to replace files that idk did not write
 * @returns the names of the files
 * @throws Failure `usage` before anything is written, if such a file is there; `output` if the system
 *   does not allow something
 */
export async function writePageFiles(
  folder: string,
  page: ReadonlyMap<string, string>,
  force: boolean,
): Promise<string[]> {
  const sums = [...page].map(([name, text]) => `${sha256(text)}  ${name}\n`).join("");
  // The hashes are last, so that they still describe the old files if a run is interrupted.
  const files = new Map([...page, [SUMS, sums]]);
  try {
    if (!force) await refuseOthers(folder, files);
    await mkdir(folder, { recursive: true });
    for (const [name, text] of files) await replace(join(folder, name), text);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("output", `cannot write the page to ${folder}: ${reasonOf(error)}`, error);
  }
  return [...files.keys()];
}

async function refuseOthers(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const sums = (await contentOf(join(folder, SUMS)))?.toString() ?? "";
  const written = new Set(sums.split("\n"));
  for (const [name, text] of files) {
    const path = join(folder, name);
    const there = await contentOf(path);
    if (there === undefined || there.equals(Buffer.from(text))) continue;
    if (name === SUMS ? isSums(sums) : written.has(`${sha256(there)}  ${name}`)) continue;
    throw usage(
      `${path} already exists and is not a file that \`idk link --page\` wrote, or was changed since: ` +
        "name another folder, or use --force to replace it",
    );
  }
}

/** @returns undefined if nothing is there; the text of a link or folder is empty, which no file of idk is */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return (await lstat(path)).isFile() ? await readFile(path) : Buffer.alloc(0);
  } catch (error) {
    // ENOTDIR: the folder is a file, which is an error when the folder is created.
    if (["ENOENT", "ENOTDIR"].includes(systemCodeOf(error))) return undefined;
    throw error;
  }
}

function isSums(text: string): boolean {
  return /^(?:[0-9a-f]{64} {2}\S+\n)+$/u.test(text);
}

async function replace(path: string, text: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  // The web server may be another user.
  await replaceFile(path, text, there?.isFile() === true ? there.mode & 0o777 : undefined);
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
