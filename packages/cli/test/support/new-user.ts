import { expect } from "bun:test";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { newFolder, noise, type Result, runIdk } from "./cli.ts";

type Run = (args: readonly string[], more?: Record<string, string>) => Promise<Result>;

/** The home of a user, with absolute paths in it. */
export interface User {
  readonly home: string;
  /** A folder to back up. */
  readonly docs: string;
  /** Runs `idk` in the home. */
  readonly idk: Run;
  /** The same, and requires exit code 0. */
  readonly ok: Run;
  readonly config: string;
  readonly identity: string;
  readonly store: string;
  readonly writer: string;
}

/** A new user after `idk init`. */
export async function newUser(): Promise<User> {
  const home = newFolder();
  const env = { HOME: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
  const idk: Run = (args, more = {}) => runIdk(args, { cwd: home, env: { ...env, ...more } });
  const ok: Run = async (args, more) => {
    const result = await idk(args, more);
    expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
    return result;
  };
  await ok(["init", "--no-passphrase"]);
  const docs = join(home, "docs");
  mkdirSync(join(docs, "inner/empty"), { recursive: true });
  writeFileSync(join(docs, "notes.txt"), "the notes\n");
  writeFileSync(join(docs, "inner/photo"), noise(3 * 2 ** 20, 7));
  chmodSync(join(docs, "inner/photo"), 0o640);
  linkSync(join(docs, "inner/photo"), join(docs, "same photo"));
  symlinkSync("../anywhere", join(docs, "link"));
  // Old enough to be believed unchanged.
  for (const name of ["notes.txt", "inner/photo"]) utimesSync(join(docs, name), 1e9, 1e9);
  return {
    home,
    docs,
    idk,
    ok,
    config: join(home, ".config/idk/config.toml"),
    identity: join(home, ".local/share/idk/identity.key"),
    store: join(home, ".local/share/idk/store"),
    writer: join(home, ".local/share/idk/writer.key"),
  };
}

export const json = ({ stdout }: Result): Record<string, unknown>[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** What matters of a tree, in order: path, mode, time and content or target. */
export function treeOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const at = path.slice(folder.length);
      if (entry.isSymbolicLink()) return `${at} -> ${readlinkSync(path)}`;
      const { mode, mtimeMs, nlink } = statSync(path);
      const what = `${at} ${(mode & 0o7777).toString(8)} ${Math.floor(mtimeMs)}`;
      if (entry.isDirectory()) return what;
      return `${what} ${nlink} ${Bun.hash(readFileSync(path))}`;
    })
    .toSorted();
}
