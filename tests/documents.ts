import { mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { minioServer } from "./servers/s3-servers.ts";
import { tmpdir } from "node:os";

/** The root of the project. */
export const root: string = join(import.meta.dir, "..");

/** A fenced block of a Markdown document. */
export interface Block {
  /** The info string after the opening fence: the language, and which test runs the block. */
  readonly info: string;
  readonly code: string;
  /** Line number of the opening fence, from 1. */
  readonly line: number;
}

/** Info string of shell commands that no test runs; the reason follows. */
export const NOT_RUN = "sh not run: ";

/** Returns the fenced blocks of a document in order. Blocks in lists lose their indentation. */
export function fencedBlocks(markdown: string): Block[] {
  const fence = /^( *)```([^\n]*)\n(.*?)^\1```$/gmsu;
  return Array.from(markdown.matchAll(fence), (match) => ({
    info: match[2]!,
    code: match[3]!.replaceAll(new RegExp(`^${match[1]}`, "gmu"), ""),
    line: markdown.slice(0, match.index).split("\n").length,
  }));
}

/** Returns the code of the blocks with this info string. `path` is relative to the project. */
export async function readBlocks(path: string, info: string): Promise<string[]> {
  const markdown = await Bun.file(join(root, path)).text();
  return fencedBlocks(markdown)
    .filter((block) => block.info === info)
    .map(({ code }) => code);
}

/** Returns the blocks with this info string as one session. */
export async function readSession(path: string, info: string): Promise<string> {
  return (await readBlocks(path, info)).join("\n");
}

/** Variables that point the command to an empty home, so that it ignores the tester's own files. */
export function homeIn(folder: string): Record<string, string> {
  return {
    XDG_CACHE_HOME: join(folder, ".cache"),
    XDG_CONFIG_HOME: join(folder, ".config"),
    XDG_DATA_HOME: join(folder, ".data"),
    XDG_STATE_HOME: join(folder, ".state"),
  };
}

/** The variables with which a document's reader names a MinIO server: the one of the tests. */
export function minioVariables(): Record<string, string> {
  const { endpoint, accessKeyId, secretAccessKey } = minioServer();
  const { hostname, port } = new URL(endpoint);
  return {
    MINIO_ENDPOINT: hostname,
    MINIO_PORT: port,
    MINIO_ACCESS_KEY: accessKeyId,
    MINIO_SECRET_KEY: secretAccessKey,
  };
}

/** Replaces the bucket `attic` of the documents by one that only this run uses. */
export function withOwnBucket(session: string): string {
  return session.replaceAll("attic", `attic-${crypto.randomUUID()}`);
}

/** Runs `work` in a new folder with the packages and the command in place, as if installed. */
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

export interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export async function run(
  folder: string,
  command: readonly string[],
  env: Record<string, string> = {},
  { cwd = folder, stdin = "" }: { readonly cwd?: string; readonly stdin?: string } = {},
): Promise<Result> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...environmentWithoutSettings(), ...env, PATH: `${folder}:${process.env["PATH"]}` },
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

/** Runs a shell session that ends at the first command that fails. */
export function runSession(
  folder: string,
  session: string,
  env: Record<string, string> = {},
): Promise<Result> {
  const command = ["bash", "-euo", "pipefail", "-c", session];
  return run(folder, command, { ...homeIn(folder), ...env });
}

/** The environment without the tester's settings of the command, which would change a session. */
function environmentWithoutSettings(): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:IDK|MINIO)_/u.test(name));
  return Object.fromEntries(kept);
}
