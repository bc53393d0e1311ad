import { BUSY, LOCKED, openDatabase, sqliteCode } from "../cache/database.ts";
import { dirname } from "node:path";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { StorageError } from "@idk/storage";
import type { ChainId } from "../format/names/identifiers.ts";
import { formatMarker, parseMarker } from "../format/names/marker.ts";
import { type HeadMemory, type RememberedHead, rememberIn, rollBackIn } from "./head-memory.ts";
import { setTimeout as sleep } from "node:timers/promises";

const PAYLOAD_HASH = /^[0-9a-f]{64}$/u;
/** How long another process is waited for. What each does with the file takes a moment. */
const WAIT_MS = 30_000;
/** After how long that is told. */
const WAIT_TOLD_MS = 1000;
const POLL_MS = 20;

/** Options of `headMemoryFile`. */
export interface HeadMemoryFileOptions {
  /** How long to wait for another process that is changing the file, in milliseconds, by default 30,000. */
  readonly waitMs?: number | undefined;
  /** Is called once for each change that has waited for a second. */
  readonly onWait?: (() => void) | undefined;
  /** Ends the waiting. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A memory in a file: JSON, replaced as a whole, by one process at a time. `<path>.lock` stays beside it.
 * Its functions throw `StorageError` `unavailable` if the file cannot be read or written, `rollback` if it
 * is damaged, and `aborted`.
 *
 * @param path of the file. It and its folder need not exist.
 */
export function headMemoryFile(path: string, options: HeadMemoryFileOptions = {}): HeadMemory {
  const recall = async () => parse(path, await textOf(path));
  const change = async (by: (heads: Map<ChainId, RememberedHead>) => boolean): Promise<void> => {
    try {
      await mkdir(dirname(path), { recursive: true });
      await alone(path, options, async () => {
        const heads = new Map(await recall());
        if (by(heads)) await replace(path, textFor(heads));
      });
    } catch (error) {
      if (error instanceof StorageError) throw error;
      throw new StorageError("unavailable", `cannot write ${path}, which remembers heads`, {
        cause: error,
      });
    }
  };
  return {
    recall,
    remember: (newest) => change((heads) => rememberIn(heads, newest)),
    rollBack: (chain, from, to) => change((heads) => rollBackIn(heads, chain, from, to)),
  };
}

/**
 * Does the work while nobody else does any with this file, in this process or another: under the lock of a
 * database beside it, which stays empty. The system releases it when the process ends, and never before, so
 * nothing has to be guessed from the age of a lock.
 */
async function alone(
  path: string,
  { waitMs = WAIT_MS, onWait, signal }: HeadMemoryFileOptions,
  work: () => Promise<void>,
): Promise<void> {
  const database = await openDatabase(`${path}.lock`);
  try {
    const start = performance.now();
    let isTold = false;
    for (;;) {
      try {
        database.exec("BEGIN EXCLUSIVE");
        break;
      } catch (error) {
        const code = sqliteCode(error);
        if (code !== BUSY && code !== LOCKED) throw error;
      }
      if (signal?.aborted === true) {
        throw new StorageError("aborted", "the operation was aborted", { cause: signal.reason });
      }
      const waited = performance.now() - start;
      if (waited > waitMs) throw inUse(path, waitMs);
      if (waited > WAIT_TOLD_MS && !isTold) {
        isTold = true;
        onWait?.();
      }
      // Not all that wait look at the same time.
      await sleep(POLL_MS * (0.5 + Math.random()));
    }
    await work();
  } finally {
    // Ends the transaction too.
    database.close();
  }
}

function inUse(path: string, waitMs: number): StorageError {
  return new StorageError(
    "unavailable",
    `another process has kept ${path} locked for ${Math.round(waitMs / 1000)} seconds: ` +
      "wait for it to end, or end it if it is stopped, and try again",
  );
}

function textFor(heads: ReadonlyMap<ChainId, RememberedHead>): string {
  const lines = Array.from(heads.values(), ({ marker, name, payloadHash }) => ({
    marker: formatMarker(marker),
    name,
    payload: payloadHash,
  }));
  return `${JSON.stringify({ version: 1, heads: lines })}\n`;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new StorageError("unavailable", `cannot read ${path}, which remembers heads`, {
      cause: error,
    });
  }
}

function parse(path: string, text: string | undefined): ReadonlyMap<ChainId, RememberedHead> {
  const heads = new Map<ChainId, RememberedHead>();
  if (text === undefined) return heads;
  const damaged = () =>
    new StorageError(
      "rollback",
      `${path} is damaged, so this machine no longer knows which heads it has seen: ` +
        "compare the newest snapshots with what you expect, then delete the file",
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged();
  }
  const { version, heads: lines } = (value ?? {}) as { version?: unknown; heads?: unknown };
  if (version !== 1 || !Array.isArray(lines)) throw damaged();
  for (const line of lines as readonly unknown[]) {
    const { marker: text, name, payload } = (line ?? {}) as Readonly<Record<string, unknown>>;
    const marker = typeof text === "string" ? parseMarker(text) : undefined;
    if (marker === undefined || typeof name !== "string") throw damaged();
    if (typeof payload !== "string" || !PAYLOAD_HASH.test(payload)) throw damaged();
    heads.set(marker.chain, { marker, name, payloadHash: payload });
  }
  return heads;
}

/** Writes a file that is whole after a crash, too: the old or the new one. */
async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
