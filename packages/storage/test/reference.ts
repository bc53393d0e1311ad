import { join } from "node:path";
import { existsSync } from "node:fs";
import { testdata } from "./support.ts";
import { z } from "zod";

/**
 * The independent reader and writer in Python, kept running for the length of a test file. Requests
 * and responses are JSON, one per line.
 */
export interface Reference extends AsyncDisposable {
  ask(request: Record<string, unknown>): Promise<Answer>;
}

const Answer: z.ZodType<Answer> = z.looseObject({ ok: z.boolean() });

export interface Answer {
  readonly ok: boolean;
  readonly [field: string]: unknown;
}

/** Its interpreter, or undefined if it is not installed. In CI it must be. */
export const referencePython: string | undefined = ((): string | undefined => {
  const installed = join(testdata, "../.cache/python/bin/python");
  const python = process.env["IDK_REFERENCE_PYTHON"] ?? installed;
  if (existsSync(python)) return python;
  if (process.env["CI"]) throw new Error("the Python reference is not installed: run script/test");
  console.warn("skipped: no Python reference (script/test installs it)");
  return undefined;
})();

export function startReference(): Reference {
  if (referencePython === undefined) throw new Error("the Python reference is not installed");
  const child = Bun.spawn([referencePython, "-m", "idk_reference", "batch"], {
    cwd: join(testdata, "reference"),
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
      return Answer.parse(JSON.parse(value));
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
