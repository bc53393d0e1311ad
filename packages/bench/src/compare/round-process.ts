import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ownEnvironment } from "./program.ts";
import type { Job, Reply } from "./round/job.ts";
import type { TaskInfo } from "./round/task-list.ts";

/** A process that measures or counts one task of one revision: see round/job.ts. */
export interface RoundProcess extends AsyncDisposable {
  /** Asks for a batch of so many operations, or for the end. */
  send(line: `run ${number}` | "end"): void;
  /** @throws Error with the task, the revision and the output, if the process failed */
  next(): Promise<Reply>;
  /** The next reply, which must be of this kind. */
  expect<Kind extends Reply["kind"]>(kind: Kind): Promise<Extract<Reply, { kind: Kind }>>;
}

export interface RoundSettings extends Pick<Job, "mode" | "folder" | "store"> {
  readonly task: TaskInfo;
  /** The name of the revision. */
  readonly revision: string;
  readonly roundScript: string;
  readonly signal: AbortSignal;
}

/**
 * Starts a process. Disposing ends it and removes its folder; the process removes its objects. If the
 * signal is aborted it is killed, and its objects remain.
 */
export function startRound(settings: RoundSettings): RoundProcess {
  const { task, revision, mode, folder, store, roundScript, signal } = settings;
  signal.throwIfAborted();
  const child = Bun.spawn([process.execPath, roundScript], {
    cwd: dirname(roundScript),
    env: ownEnvironment(),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    signal,
  });
  const errors = new Response(child.stderr).text();
  const lines = linesOf(child.stdout);
  const write = (line: string): void => {
    void child.stdin.write(`${line}\n`);
    void child.stdin.flush();
  };
  const { name, backendKind, threads } = task;
  const job: Job = {
    task: name,
    backendKind,
    threads,
    mode,
    folder,
    ...(backendKind === "store" && { store }),
  };
  // Not as an argument: other users could read credentials there.
  write(JSON.stringify(job));

  const next = async (): Promise<Reply> => {
    const { value } = await lines.next();
    if (value !== undefined) return JSON.parse(value) as Reply;
    const code = await child.exited;
    signal.throwIfAborted();
    const message = (await errors).trim() || `exit code ${code}`;
    throw new Error(`${name} failed at ${revision}: ${message}`);
  };
  return {
    send: write,
    next,
    async expect(kind) {
      const reply = await next();
      if (reply.kind === kind) return reply as Extract<Reply, { kind: typeof kind }>;
      const got = reply.kind === "missing" ? `${reply.what} is missing` : reply.kind;
      throw new Error(`${name} failed at ${revision}: expected ${kind}, got ${got}`);
    },
    async [Symbol.asyncDispose]() {
      await child.stdin.end();
      await child.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  return undefined;
}
