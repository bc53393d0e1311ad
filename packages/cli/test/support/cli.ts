import { afterAll, expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The command: its sources, or with `IDK_TEST_COMMAND=bundle` the bundle, built before. */
export const MAIN: string = fileURLToPath(
  new URL(
    process.env["IDK_TEST_COMMAND"] === "bundle" ? "../../dist/main.cjs" : "../../src/main.ts",
    import.meta.url,
  ),
);

export interface Result {
  readonly code: number;
  readonly stdout: string;
  /** Standard output as bytes. */
  readonly bytes: Uint8Array;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array | string;
}

/** A folder with its own store and identity, to run `idk` in. */
export interface Workspace {
  readonly folder: string;
  readonly recipient: string;
  /** A typical environment: store, identity and recipient. */
  readonly env: Readonly<Record<string, string>>;
  path(name: string): string;
  write(name: string, content: Uint8Array | string): string;
  read(name: string): Uint8Array;
  /** Runs `idk` with that environment. */
  idk(args: readonly string[], options?: RunOptions): Promise<Result>;
  /** Runs `idk` and requires exit code 0. */
  ok(args: readonly string[], options?: RunOptions): Promise<Result>;
  /** Stores content and returns its address. */
  put(content: Uint8Array | string, ...args: string[]): Promise<string>;
  /** The path of a blob's file. */
  blob(address: string): string;
}

const folders: string[] = [];
function removeFolders(): void {
  // The home, too, which the next process creates again.
  for (const folder of [...folders.splice(0), home])
    rmSync(folder, { recursive: true, force: true });
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "idk-cli-"));
  folders.push(folder);
  return folder;
}

/** A separate home, because runtimes leave caches there. */
const home = mkdtempSync(join(tmpdir(), "idk-cli-home-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Passes only PATH from the caller's environment. */
export function isolated(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: home, ...env };
}

/** Runs the program and checks what must hold for every run. */
export async function runIdk(
  args: readonly string[],
  options: RunOptions & { readonly cwd: string },
): Promise<Result> {
  const child = Bun.spawn([process.execPath, MAIN, ...args], {
    cwd: options.cwd,
    env: isolated(options.env),
    stdin: options.stdin === undefined ? "ignore" : new Blob([options.stdin as BlobPart]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [bytes, stderr, code] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const result = { code, bytes, stdout: new TextDecoder().decode(bytes), stderr };
  checkManners(result);
  return result;
}

/** Output must never contain a stack trace or a secret. */
export function checkManners({ stdout, stderr }: Pick<Result, "stdout" | "stderr">): void {
  expect(stderr).not.toMatch(/^\s+at /mu);
  expect(stderr).not.toContain(".ts:");
  for (const text of [stdout, stderr]) {
    expect(text).not.toMatch(/IDK-SECRET-KEY-1[0-9A-Z]/iu);
    expect(text).not.toContain(PASSPHRASE);
  }
}

export const PASSPHRASE = "correct horse battery staple";

/** Call at the top of a test file: registers the cleanup. */
export async function createWorkspace(): Promise<Workspace> {
  // Not at module level, because the module is loaded once for all test files.
  afterAll(removeFolders);
  const folder = newFolder();
  const path = (name: string) => join(folder, name);
  const made = await runIdk(["keygen", "-o", "me.key"], { cwd: folder });
  expect(made.stderr).toBe("");
  const recipient = made.stdout.trim();
  const env = { IDK_STORE: "blobs", IDK_IDENTITY: "me.key", IDK_RECIPIENTS: recipient };
  const idk: Workspace["idk"] = (args, options = {}) =>
    runIdk(args, { ...options, cwd: folder, env: { ...env, ...options.env } });
  const ok: Workspace["ok"] = async (args, options) => {
    const result = await idk(args, options);
    expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
    return result;
  };
  return {
    folder,
    recipient,
    env,
    path,
    write(name, content) {
      writeFileSync(path(name), content, { mode: 0o600 });
      return path(name);
    },
    read: (name) => readFileSync(path(name)),
    idk,
    ok,
    async put(content, ...args) {
      const { stdout } = await ok(["put", "-", ...args], { stdin: content });
      expect(stdout).toMatch(/^[0-9a-f]{64}\n$/u);
      return stdout.trim();
    },
    blob: (address) => path(join("blobs", address.slice(0, 2), address)),
  };
}

/** Expects an exit code and one line on standard error. */
export function expectFailure(result: Result, code: number, message: string | RegExp): void {
  expect(result.stderr).toMatch(/^idk: [^\n]+\n$/u);
  if (typeof message === "string") expect(result.stderr).toContain(message);
  else expect(result.stderr).toMatch(message);
  expect(result.code).toBe(code);
}

/** Pseudorandom bytes, the same in every run. */
export function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = seed;
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[index] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Polls until there is a result, for at most a minute. */
export async function until<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end; await Bun.sleep(2)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error("what was waited for did not happen");
}
