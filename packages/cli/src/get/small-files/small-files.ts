import type { StoredContent } from "@idk/storage";
import { rmSync } from "node:fs";
import { basename } from "node:path";
import type { Piscina } from "piscina";
import { type Downloaded, timeOf } from "../download.ts";
import type { HeldFolder } from "../held-folders.ts";
import type { Destination } from "../output-folder.ts";
import { partFiles } from "../part-file.ts";
import type { SmallFile, SmallFileJob, SmallFileOutcome } from "./small-file-worker.ts";

/**
 * Creates the files of small contents in a thread. That takes half of the processor time that calls for each
 * of them to the runtime's own threads take, and many can be synced together.
 */
export interface SmallFiles extends AsyncDisposable {
  /**
   * Takes a content over, if it is small and the thread can take more. Starts the thread once there are
   * many.
   *
   * @returns undefined if it is not taken
   * @throws as reading the content, and if its folder was removed or replaced
   */
  take(content: StoredContent, destination: Destination): Promise<Taken | undefined>;
}

/** In an object, because it is waited for elsewhere. */
export interface Taken {
  /** Undefined if the file could not be created, and the caller has to do it. Never rejects. */
  readonly downloaded: Promise<Downloaded | undefined>;
}

/** From this size on, in bytes, a content is not small. */
export const LARGE: number = 64 * 1024;

/** Contents before the thread is started: its start takes about as long as it saves for so many. */
const FEW = 256;
/** Contents that are taken over and not done yet, at most, and their bytes. */
export const TAKEN_MAX = 192;
const BYTES_MAX = 4 * 2 ** 20;

interface Item {
  readonly file: Omit<SmallFile, "end">;
  readonly content: Uint8Array;
  done(outcome: SmallFileOutcome): void;
}

/**
 * @param sync make sure that each content is on the disk before its file appears
 * @param module what the thread runs
 */
export function createSmallFiles(sync: boolean, module: string = workerFile()): SmallFiles {
  const mode = 0o666 & ~process.umask();
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const taken = { contents: 0, bytes: 0 };
  let seen = 0;
  let pool: Piscina | undefined;
  let starting: Promise<void> | undefined;
  let isRunning = false;
  let isClosed = false;
  let waiting: Item[] = [];
  let current: readonly Item[] = [];
  // Covers every orderly exit, such as after a second Ctrl-C.
  const removeAtExit = (): void => {
    Atomics.store(stop, 0, 1);
    for (const { file } of current) {
      try {
        rmSync(file.temporary, { force: true });
      } catch {
        // The others can be removed, perhaps.
      }
    }
  };
  process.on("exit", removeAtExit);

  const start = async (): Promise<void> => {
    try {
      // Loaded here, so that a few files do not pay for it.
      const { Piscina } = await import("piscina");
      if (isClosed) return;
      pool = new Piscina({
        filename: module,
        minThreads: 1,
        maxThreads: 1,
        recordTiming: false,
      });
      // A thread's fatal error is emitted here as well as rejecting its jobs.
      pool.on("error", () => {});
      await pool.run(undefined, { name: "warmUp" });
      isRunning = !isClosed;
    } catch {
      // The caller then does all the work.
      await pool?.destroy().catch(() => {});
    }
  };
  const runJob = async (items: readonly Item[]): Promise<SmallFileOutcome[]> => {
    let end = 0;
    const files = items.map(({ file, content }) => ({ ...file, end: (end += content.length) }));
    const contents = new Uint8Array(end);
    for (const [at, { content }] of items.entries()) {
      contents.set(content, files[at]!.end - content.length);
    }
    const job: SmallFileJob = { files, contents, sync, stop };
    // Piscina's types follow the other of two declarations of postMessage.
    return pool!.run(job, { name: "create", transferList: [contents.buffer] as never });
  };
  /** Contents that are taken over while the thread works are its next job. */
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      [current, waiting] = [waiting, []];
      let outcomes: readonly SmallFileOutcome[] = [];
      try {
        if (isRunning) outcomes = await runJob(current);
      } catch {
        isRunning = false;
        removeAtExit();
        // Another thread would be started in its place.
        void pool!.destroy().catch(() => {});
      }
      for (const [at, { done }] of current.entries()) done(outcomes[at] ?? "left");
      current = [];
    }
  };
  const create = (
    { address, metadata }: StoredContent,
    content: Uint8Array,
    path: string,
  ): Promise<SmallFileOutcome> => {
    const { promise, resolve: done } = Promise.withResolvers<SmallFileOutcome>();
    const temporary = partFiles(path, address).own;
    const time = timeOf(metadata);
    waiting.push({ file: { temporary, path, mode, time }, content, done });
    if (current.length === 0) void work();
    return promise;
  };

  return {
    async take(content, { path, hold, refused }) {
      const { size, metadata } = content;
      if (hold === undefined || refused !== undefined) return undefined;
      if (size >= LARGE || metadata["enc"] !== undefined) return undefined;
      seen += 1;
      if (seen > FEW) starting ??= start();
      if (!isRunning || taken.contents === TAKEN_MAX || taken.bytes >= BYTES_MAX) return undefined;
      const count = (sign: 1 | -1): void => {
        taken.contents += sign;
        taken.bytes += sign * size;
      };
      count(1);
      let folder: HeldFolder;
      let bytes: Uint8Array;
      try {
        bytes = await content.bytes();
        folder = hold();
      } catch (error) {
        count(-1);
        throw error;
      }
      const outcome = create(content, bytes, folder.at(basename(path)));
      const downloaded = async (): Promise<Downloaded | undefined> => {
        const is = await outcome;
        count(-1);
        folder.release();
        if (is === "left") return undefined;
        const written = is === "created" ? size : 0;
        return { size, written, ...(is === "existed" && { alreadyThere: true }) };
      };
      return { downloaded: downloaded() };
    },
    async [Symbol.asyncDispose]() {
      process.off("exit", removeAtExit);
      isClosed = true;
      isRunning = false;
      // Before awaiting the start, which waits for a thread that may never report.
      await pool?.destroy().catch(() => {});
      await starting;
    },
  };
}

/** What the thread runs: the module next to this one. */
function workerFile(): string {
  return new URL("small-file-worker.ts", import.meta.url).href;
}
