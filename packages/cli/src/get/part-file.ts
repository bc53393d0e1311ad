import { constants, readFileSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Partial files next to a target. Their names contain the target, the address and the process that
 * writes them, so that the next run finds those whose process has ended.
 */
export interface PartFiles {
  /** The path of this process's own file. */
  readonly own: string;
  /**
   * Renames the longest abandoned file to `own`, replacing it.
   *
   * @returns undefined if there is none
   */
  takeOver(): Promise<FileHandle | undefined>;
  /** Removes all abandoned files. */
  removeLeft(): Promise<void>;
}

/** Most file systems allow names of 255 bytes, some fewer. */
const BASE_MAX = 80;

const SUFFIX = ".idk-part";

/** Of this process. Finding it out takes as long as creating a file, and there may be many. */
let ownIdentity: string | undefined;

/** Whether a file of this name is a partial file. */
export function isPartFile(name: string): boolean {
  return name.startsWith(".") && name.endsWith(SUFFIX);
}

export function partFiles(target: string, address: string): PartFiles {
  const folder = dirname(target);
  const base = basename(target);
  const label =
    Buffer.byteLength(base) > BASE_MAX
      ? Bun.CryptoHasher.hash("sha256", base, "hex").slice(0, 32)
      : base;
  const prefix = `.${label}.${address.slice(0, 16)}.`;
  const writer = (ownIdentity ??= processIdentity(process.pid) ?? `${process.pid}`);
  const random = crypto.getRandomValues(new Uint8Array(6)).toHex();
  const own = join(folder, `${prefix}${writer}.${random}${SUFFIX}`);

  const abandoned = async (): Promise<string[]> => {
    const paths: string[] = [];
    for (const name of await readdir(folder)) {
      if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue;
      const path = join(folder, name);
      const rest = name.slice(prefix.length, -SUFFIX.length);
      const writer = /^(\d+(?:-\d+)?)\.[0-9a-f]{12}$/u.exec(rest)?.[1];
      if (writer !== undefined && !isRunning(writer)) paths.push(path);
    }
    return paths;
  };

  return {
    own,
    async takeOver() {
      const sized = await Promise.all(
        (await abandoned()).map(async (path) => ({ path, size: await sizeOf(path) })),
      );
      for (const { path } of sized.toSorted((a, b) => b.size - a.size)) {
        const handle = await openOwned(path);
        if (handle === undefined) continue;
        try {
          // If several processes try, only one finds it under its old name.
          await rename(path, own);
          return handle;
        } catch {
          await handle.close();
        }
      }
      return undefined;
    },
    async removeLeft() {
      for (const path of await abandoned()) await rm(path, { force: true }).catch(() => {});
    },
  };
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Only this user's own file: in a shared folder, others can place files and links. */
async function openOwned(path: string): Promise<FileHandle | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
  const stats = await handle.stat();
  const owned = process.getuid === undefined || stats.uid === process.getuid();
  if (stats.isFile() && stats.nlink === 1 && owned && (stats.mode & 0o077) === 0) return handle;
  await handle.close();
  return undefined;
}

/**
 * Identifies a process, even if its number is reused later.
 *
 * @returns undefined if there is no such process, or it is a zombie
 */
export function processIdentity(pid: number): string | undefined {
  if (!hasProc) return isAlive(pid) ? `${pid}` : undefined;
  const stat = statOf(pid);
  return stat === undefined || "ZX".includes(stat.state) ? undefined : `${pid}-${stat.startTime}`;
}

/** Whether the process with this identity still runs. */
export function isRunning(identity: string): boolean {
  return processIdentity(Number.parseInt(identity, 10)) === identity;
}

const hasProc = statOf(process.pid) !== undefined;

/** See proc_pid_stat(5): the command's name, in parentheses, may contain any character. */
function statOf(pid: number): { state: string; startTime: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, startTime] = [fields[0], fields[19]];
    return state === undefined || startTime === undefined ? undefined : { state, startTime };
  } catch {
    return undefined;
  }
}

/** Signalling another user's process fails, but that is not one of ours. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
