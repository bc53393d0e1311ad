import { mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

/** Of the project. */
export const root: string = join(import.meta.dir, "..");

export interface Block {
  /** What stands behind the opening fence: the language, and for whom it is meant. */
  readonly info: string;
  readonly code: string;
  /** Of the opening fence, 1 or more. */
  readonly line: number;
}

/** The info string of lines of a shell that no test runs, with the reason. */
export const NOT_RUN = "sh not run: ";

/** The fenced blocks of a document, in order; those within a list without their indentation. */
export function fencedBlocks(markdown: string): Block[] {
  const fence = /^( *)```([^\n]*)\n(.*?)^\1```$/gmsu;
  return Array.from(markdown.matchAll(fence), (match) => ({
    info: match[2]!,
    code: match[3]!.replaceAll(new RegExp(`^${match[1]}`, "gmu"), ""),
    line: markdown.slice(0, match.index).split("\n").length,
  }));
}

/** A document, by its path in the project: its blocks with an info string, as one text each. */
export async function readBlocks(path: string, info: string): Promise<string[]> {
  const markdown = await Bun.file(join(root, path)).text();
  return fencedBlocks(markdown)
    .filter((block) => block.info === info)
    .map(({ code }) => code);
}

/** A home without a configuration: the reader's own must count for nothing, and stay as it is. */
export function homeIn(folder: string): Record<string, string> {
  return { XDG_CONFIG_HOME: join(folder, ".config"), XDG_DATA_HOME: join(folder, ".data") };
}

/** A folder from which the packages and the command are found as after an installation. */
export async function inNewFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "idk-document-"));
  try {
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    await symlink(join(root, "script/idk"), join(folder, "idk"));
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export async function run(
  folder: string,
  command: readonly string[],
  env: Record<string, string> = {},
  { cwd = folder, stdin = "" }: { readonly cwd?: string; readonly stdin?: string } = {},
): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...withoutSettings(), ...env, PATH: `${folder}:${process.env["PATH"]}` },
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { stdout, stderr, exitCode: await child.exited };
}

/** Runs lines of a shell until one fails. */
export function runSession(
  folder: string,
  session: string,
  env: Record<string, string> = {},
): Promise<Ran> {
  const command = ["bash", "-euo", "pipefail", "-c", session];
  return run(folder, command, { ...homeIn(folder), ...env });
}

/** What whoever runs the tests has set for the command would decide what a session does. */
function withoutSettings(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:IDK|MINIO)_/u.test(name));
  return Object.fromEntries(own);
}
