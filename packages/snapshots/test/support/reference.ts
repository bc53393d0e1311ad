import { existsSync } from "node:fs";
import { join } from "node:path";

const testdata = join(import.meta.dir, "../../../../testdata");

/** Where its modules are. */
export const referenceFolder: string = join(testdata, "reference");

/** What the independent program in Python answers: JSON, one line each. */
export interface Answer {
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  /** Of `tree`. */
  readonly entries?: readonly ShownEntry[];
  readonly [field: string]: unknown;
}

/** An entry, as the operation `tree` shows it. Bytes are hexadecimal digits. */
export interface ShownEntry {
  readonly path: string;
  readonly type: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtime: readonly [number, number];
  readonly size: number;
  readonly hash: string | null;
  readonly extra: Readonly<Record<string, unknown>>;
  /** Of a file: what its bytes hash to, and how many of them are holes. */
  readonly sha256?: string;
  holes?: number;
  /** Of a link its target, of a device its numbers, otherwise null. */
  readonly content?: string | readonly number[] | null;
}

/** Its interpreter, or undefined if it is not installed. In CI it must be. */
export const referencePython: string | undefined = ((): string | undefined => {
  const installed = join(testdata, "../.cache/python/bin/python");
  const python = process.env["IDK_REFERENCE_PYTHON"] ?? installed;
  if (existsSync(python)) return python;
  if (process.env["CI"]) throw new Error("the Python reference is not installed: run script/test");
  return undefined;
})();

/** What the names of tests end with that need it. */
export const skipped: string =
  referencePython === undefined ? " (skipped: script/test installs the Python reference)" : "";

/** The program, kept running. */
export interface Reference extends AsyncDisposable {
  ask(request: Record<string, unknown>): Promise<Answer>;
}

export function startReference(): Reference {
  if (referencePython === undefined) throw new Error("the Python reference is not installed");
  const child = Bun.spawn([referencePython, "-m", "idk_reference.snapshots", "batch"], {
    cwd: referenceFolder,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = readLines(child.stdout);
  return {
    async ask(request) {
      await child.stdin.write(`${JSON.stringify(request)}\n`);
      await child.stdin.flush();
      const { done, value } = await lines.next();
      if (done) throw new Error(`the reference stopped with exit code ${await child.exited}`);
      return JSON.parse(value) as Answer;
    },
    async [Symbol.asyncDispose]() {
      await child.stdin.end();
      await child.exited;
    },
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let buffered = "";
  for await (const piece of stream) {
    buffered += decoder.decode(piece, { stream: true });
    const complete = buffered.split("\n");
    buffered = complete.pop()!;
    yield* complete;
  }
}
