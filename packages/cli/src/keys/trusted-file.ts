import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { isAbsolute, join, parse, resolve, sep } from "node:path";
import { usage } from "../errors/failures.ts";
import { readUpTo, withSmallFile } from "../input/small-file.ts";

/**
 * Reads a file that decides where content goes, for whom, and which programs run. Only this user and
 * root may be able to change or replace it: nobody else may own it or write to it, or to a folder or
 * symbolic link on the way to it. Windows has no such modes.
 *
 * @param what the kind of file, for messages
 * @throws Failure `usage` with the remedy
 */
export async function readTrustedFile(path: string, what: string): Promise<Uint8Array> {
  return withSmallFile(path, what, async (handle) => {
    if (process.getuid !== undefined) {
      const user = process.getuid();
      const check = (stats: Stats, at: string, how: string) => {
        const fault = faultOf(stats, user, at);
        if (fault === undefined) return;
        throw usage(`the ${what} ${path} is not used, because ${how} ${fault}`);
      };
      const stats = await handle.stat();
      // Everyone can write to /dev/null, and nobody can replace it.
      const fixed = stats.isCharacterDevice();
      if (!fixed) check(stats, path, "it");
      for (const [at, found] of wayTo(path)) {
        check(found, at, found.isSymbolicLink() ? `the link ${at}` : `its folder ${at}`);
      }
    }
    return readUpTo(handle);
  });
}

/** The kernel itself follows no more. */
const LINKS_MAX = 40;

/** The folders and links by which the system finds a file, from the root on. */
function* wayTo(path: string): Generator<[at: string, stats: Stats]> {
  const whole = resolve(path);
  let at = parse(whole).root;
  const left = partsOf(whole);
  yield [at, lstatSync(at)];
  for (let links = 0; left.length > 0 && links <= LINKS_MAX;) {
    const next = join(at, left.shift()!);
    const stats = lstatSync(next, { throwIfNoEntry: false });
    // The file itself is checked once it is open. A link below /proc may lead to what has no path.
    if (stats === undefined || !(stats.isDirectory() || stats.isSymbolicLink())) return;
    yield [next, stats];
    if (stats.isDirectory()) {
      at = next;
      continue;
    }
    links += 1;
    const target = readlinkSync(next);
    if (isAbsolute(target)) at = parse(target).root;
    left.unshift(...partsOf(target));
  }
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== "" && part !== ".");
}

/** What is wrong with the owner or the mode, to follow its name; undefined if it is fine. */
function faultOf(stats: Stats, user: number, at: string): string | undefined {
  const { uid, mode } = stats;
  if (uid !== user && uid !== 0 && !(stats.isDirectory() && isUnmapped(uid))) {
    const chown = stats.isSymbolicLink() ? "chown -h" : "chown";
    return `belongs to another user (${uid}), who can change it: run ${chown} ${user} ${at} as root, or use a copy`;
  }
  if (stats.isSymbolicLink()) return undefined;
  // In a sticky folder, such as /tmp, only its owner and that of a file can replace the file.
  const sticky = stats.isDirectory() && (mode & 0o1000) !== 0;
  if ((mode & 0o022) === 0 || sticky) return undefined;
  return `can be changed by other users of this machine: run chmod go-w ${at}`;
}

/**
 * Whether this is what Linux shows, in a user namespace such as that of a sandbox, for all users
 * outside of it. Such a folder is one of the system, and its owner is not known here.
 */
function isUnmapped(uid: number): boolean {
  if (uid !== 65_534) return false;
  try {
    return !/^\s*0\s+0\s+4294967295\s*$/u.test(readFileSync("/proc/self/uid_map", "latin1"));
  } catch {
    return false;
  }
}
