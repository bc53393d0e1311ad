import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  checkManners,
  isolated,
  MAIN,
  newFolder,
  type Result,
  until,
  type Workspace,
} from "./cli.ts";

export interface Interruption {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal: NodeJS.Signals;
  /** Polled; the signal is sent as soon as it returns true. */
  readonly when: () => boolean;
  /** Milliseconds from then to the signal. */
  readonly delay?: number;
}

/** Runs `idk` and sends it a signal when a condition holds. */
export async function interrupted(
  workspace: Pick<Workspace, "folder" | "env">,
  args: readonly string[],
  { env, signal, when, delay = 0 }: Interruption,
): Promise<Omit<Result, "bytes">> {
  const child = Bun.spawn([process.execPath, MAIN, ...args], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, ...env }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  let ended = false;
  void child.exited.then(() => (ended = true));
  await until(() => ended || when());
  await Bun.sleep(delay);
  child.kill(signal);
  const [stdout, stderr] = await output;
  const result = { stdout, stderr, code: await child.exited };
  checkManners(result);
  return result;
}

/** Separate XDG folders for one test. */
export function ownFolders(): { XDG_CACHE_HOME: string; XDG_STATE_HOME: string } {
  const folder = newFolder();
  return { XDG_CACHE_HOME: join(folder, "cache"), XDG_STATE_HOME: join(folder, "state") };
}

/** The paths of the journals of puts that can be resumed. */
export function journals(env: Readonly<Record<string, string>>): string[] {
  const folder = join(env["XDG_CACHE_HOME"] ?? "", "idk/put");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".journal"))
    .map((name) => join(folder, name));
}

/** The partial files of gets in a folder. */
export function partsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.includes(".idk-part"));
}
