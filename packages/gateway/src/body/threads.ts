import { type Digester, createDigester } from "./digester.ts";
import type { DigestName } from "./algorithms.ts";
import type { DigestStep } from "./digest-worker.ts";
import type { Piscina } from "piscina";
import { S3Error } from "../errors.ts";

/** Threads that compute digests of large bodies, started when they are first needed. */
export interface DigestThreads {
  /** Computes in the caller's thread until the others run, and if they cannot. */
  begin(names: readonly DigestName[]): Digester;
  /** Bodies in progress in threads. */
  bodies(): number;
  /** Waits until the threads run, or turned out not to. */
  start(): Promise<void>;
  /** Ends the threads. Digests in progress fail. */
  close(): Promise<void>;
}

/**
 * Bytes for a thread at a time. While a thread computes one buffer, the next is filled, so that each
 * body has two. Handing one over takes some 50 µs, so that few bodies have large ones.
 */
const BUFFER_BYTES = 128 * 1024;
const LARGE_BUFFER_BYTES = 512 * 1024;
/** Bodies of a thread that have large buffers. */
const LARGE_MAX = 4;
/** A body begins with so much, and has more once it has sent more: many may have begun and stopped. */
const FIRST_BYTES = 4 * 1024;

/** A thread, and how many bodies it has. The state of a body lies in its thread. */
interface Thread {
  readonly pool: Piscina;
  bodies: number;
}

/** @param count 0 to compute all in the caller's thread */
export function createDigestThreads(count: number): DigestThreads {
  let pools: readonly Piscina[] = [];
  let threads: readonly Thread[] = [];
  let starting: Promise<void> | undefined;
  let isClosed = false;
  let lastId = 0;

  const startAll = async (): Promise<void> => {
    // Loaded here, so that a gateway of small objects does not pay for it.
    const { Piscina } = await import("piscina");
    if (isClosed) return;
    const open = (): Piscina => {
      const pool = new Piscina({
        filename: new URL("digest-worker.ts", import.meta.url).href,
        minThreads: 1,
        maxThreads: 1,
        // The next step is already queued while the last outcome is on its way back.
        concurrentTasksPerWorker: 2,
        recordTiming: false,
      });
      // A thread's fatal error is emitted here as well as rejecting its jobs.
      pool.on("error", () => {});
      return pool;
    };
    pools = Array.from({ length: count }, open);
    try {
      await Promise.all(pools.map((pool) => pool.run(undefined, { name: "warmUp" })));
      if (!isClosed) threads = pools.map((pool) => ({ pool, bodies: 0 }));
    } finally {
      if (threads.length === 0) await Promise.all(pools.map(end));
    }
  };
  const start = async (): Promise<void> => {
    if (count > 0 && !isClosed) starting ??= startAll().catch(() => {});
    await starting;
  };

  return {
    begin(names) {
      void start();
      const thread = threads.toSorted((a, b) => a.bodies - b.bodies)[0];
      lastId += 1;
      return thread === undefined ? createDigester(names) : digestIn(thread, lastId, names);
    },
    bodies: () => threads.reduce((sum, { bodies }) => sum + bodies, 0),
    start,
    async close() {
      isClosed = true;
      threads = [];
      // Before awaiting the start, which waits for threads that may never report.
      await Promise.all(pools.map(end));
      await starting;
    },
  };
}

async function end(pool: Piscina): Promise<void> {
  await pool.destroy().catch(() => {});
}

/** The digests of one body in a thread. */
function digestIn(thread: Thread, id: number, names: readonly DigestName[]): Digester {
  const bufferBytes = thread.bodies < LARGE_MAX ? LARGE_BUFFER_BYTES : BUFFER_BYTES;
  let filling = new Uint8Array(FIRST_BYTES);
  let filled = 0;
  let spare: Uint8Array<ArrayBuffer> | undefined;
  let isOpen = true;
  thread.bodies += 1;

  const run = async (step: DigestStep, given: readonly ArrayBuffer[] = []): Promise<unknown> => {
    try {
      // Piscina's types follow the other of two declarations of postMessage.
      return await thread.pool.run(step, { name: "runDigestStep", transferList: given as never });
    } catch (cause) {
      throw new S3Error("InternalError", undefined, { cause });
    }
  };
  // Each step begins once the one before has ended, so that they cannot overtake each other.
  let running: Promise<unknown> = run({ type: "begin", id, names });
  running.catch(() => {});

  const flush = async (): Promise<void> => {
    const buffer = filling;
    const length = filled;
    const returned = await running;
    if (returned instanceof Uint8Array) spare = returned as Uint8Array<ArrayBuffer>;
    filling = spare ?? new Uint8Array(bufferBytes);
    spare = undefined;
    filled = 0;
    running = run({ type: "update", id, buffer, length }, [buffer.buffer]);
    running.catch(() => {});
  };
  /** Adds bytes for which the buffer has room, or will have. */
  const fill = (piece: Uint8Array): void => {
    if (filled + piece.length > filling.length) {
      const length = Math.max(filled + piece.length, 2 * filling.length);
      const grown = new Uint8Array(Math.min(bufferBytes, length));
      grown.set(filling.subarray(0, filled));
      filling = grown;
    }
    filling.set(piece, filled);
    filled += piece.length;
  };
  const fillAndFlush = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + bufferBytes - filled);
      fill(piece);
      at += piece.length;
      if (filled === bufferBytes) await flush();
    }
  };
  const close = (): void => {
    if (isOpen) thread.bodies -= 1;
    isOpen = false;
  };

  return {
    // Most pieces only fill the buffer, and need no promise.
    update: (bytes) => (filled + bytes.length < bufferBytes ? fill(bytes) : fillAndFlush(bytes)),
    async digest() {
      try {
        if (filled > 0) await flush();
        await running;
        return (await run({ type: "digest", id })) as ReadonlyMap<DigestName, Uint8Array>;
      } finally {
        close();
      }
    },
    abandon() {
      if (!isOpen) return;
      close();
      void running.then(() => run({ type: "abandon", id })).catch(() => {});
    },
  };
}
