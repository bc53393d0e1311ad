import type { OpenedObject } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import type { ByteRange } from "../objects.ts";
import { createRangeIndex, type RangeOfRoot } from "./ranges.ts";

/** Verified chunks of a range, in order. */
export interface ChunkReader {
  /** The next chunk, valid until the next call or `stop`; undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  /** Ends all work, requests in flight included. */
  stop(): Promise<void>;
}

/**
 * Reads a range of an object. While a root is read, the next one is fetched, and if both are short, also
 * its chunks.
 *
 * @param atOnce chunks in flight
 */
export function readChunks(
  context: ObjectsContext,
  opened: OpenedObject,
  range: ByteRange,
  atOnce: number,
  signal: AbortSignal | undefined,
): ChunkReader {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal!.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });

  const { chunkSize } = context.memory;
  const chunksIn = ({ range: { start, end } }: RangeOfRoot) =>
    Math.ceil(end / chunkSize) - Math.floor(start / chunkSize);

  const chunks = chunksOfAll();
  return {
    async next() {
      const { done, value } = await chunks.next();
      return done === true ? undefined : value;
    },
    async stop() {
      signal?.removeEventListener("abort", abort);
      // First, because the generator returns only after what it awaits has ended.
      controller.abort();
      await chunks.return(undefined).catch(() => {});
    },
  };

  async function* chunksOfAll(): AsyncGenerator<Uint8Array> {
    const { object, contents } = opened;
    if (object.kind === "inline") {
      const root = await context.roots.get(object.root, { range, signal: controller.signal });
      yield* root.chunks();
      return;
    }
    const roots = createRangeIndex(contents).find(range);
    let ahead: Opening | undefined;
    try {
      for (const [index, root] of roots.entries()) {
        const opening = ahead ?? open(root);
        ahead = undefined;
        const next = roots[index + 1];
        if (next !== undefined) {
          ahead = open(next);
          if (chunksIn(root) + chunksIn(next) <= atOnce + 1) ahead.start();
        }
        yield* opening.chunks();
      }
    } finally {
      // Its generator has not begun, or waits for chunks that it has to release.
      await ahead?.end();
    }
  }

  /** Fetches a root. Its faults are thrown when its chunks are read. */
  function open({ root, range }: RangeOfRoot): Opening {
    const content = context.contents.get(root.address, {
      range,
      concurrency: atOnce,
      signal: controller.signal,
    });
    content.catch(() => {});
    async function* read(): AsyncGenerator<Uint8Array> {
      yield* (await content).chunks();
    }
    const chunks = read();
    let first: Promise<IteratorResult<Uint8Array>> | undefined;
    return {
      start() {
        first = chunks.next();
        first.catch(() => {});
      },
      async *chunks() {
        try {
          const started = await first;
          if (started?.done !== true && started !== undefined) yield started.value;
          yield* chunks;
        } finally {
          await chunks.return(undefined);
        }
      },
      async end() {
        controller.abort();
        await chunks.return(undefined).catch(() => {});
      },
    };
  }
}

/** A root that is fetched ahead. */
interface Opening {
  /** Begins to fetch its chunks. */
  start(): void;
  chunks(): AsyncGenerator<Uint8Array>;
  end(): Promise<void>;
}
