import { Readable } from "node:stream";
import type { BodyCopy } from "./body-copy.ts";
import type { Capture } from "./capture.ts";

/**
 * A stream that passes on what another one has, chunk by chunk, as it is asked for: it reads nothing
 * ahead, and errors and cancels pass in both directions. It is a byte stream if the original is.
 *
 * @param over called when it has ended, been cancelled or failed
 * @param owner stays in memory as long as the stream
 */
export function copiedStream(
  original: ReadableStream<unknown>,
  copy: BodyCopy,
  capture: Capture,
  over: (ended?: "aborted" | "error") => void,
  owner?: object,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let reader: ReadableStreamDefaultReader<unknown> | undefined;
  let cancelled = false;
  const pull = async (controller: ReadableStreamController<unknown>): Promise<void> => {
    reader ??= original.getReader();
    copy.unseen = false;
    let chunk: Awaited<ReturnType<typeof reader.read>>;
    try {
      chunk = await reader.read();
    } catch (error) {
      over("error");
      throw error;
    }
    // A cancelled stream ends, too.
    if (cancelled) return;
    if (chunk.done) {
      copy.ended = true;
      over();
      controller.close();
      // A read into the reader's own buffer otherwise stays open.
      if ("byobRequest" in controller) controller.byobRequest?.respond(0);
      return;
    }
    const { value } = chunk;
    capture.aside(() => addChunk(copy, value));
    // A byte stream detaches the memory, which may be shared with others.
    controller.enqueue((isBytes ? new Uint8Array(value as Uint8Array) : value) as never);
  };
  const cancel = async (reason: unknown): Promise<void> => {
    cancelled = true;
    over("aborted");
    await (reader ?? original).cancel(reason);
  };
  const isBytes = isByteStream(original);
  // A stream refers to its source, whose methods it calls.
  const source = { pull, cancel, owner, ...(isBytes ? { type: "bytes" } : {}) };
  return new ReadableStream(source as UnderlyingSource, { highWaterMark: 0 });
}

/** Whether it is being read, or was read from or cancelled. */
export function isUsed(stream: ReadableStream): boolean {
  return stream.locked || Readable.isDisturbed(stream as never);
}

/** @param stream not locked */
function isByteStream(stream: ReadableStream<unknown>): boolean {
  try {
    stream.getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

/** What runtimes accept as a chunk of a body. */
function addChunk(copy: BodyCopy, value: unknown): void {
  if (typeof value === "string") copy.addText(value);
  else if (value instanceof ArrayBuffer) copy.addBytes(new Uint8Array(value));
  else if (ArrayBuffer.isView(value)) {
    copy.addBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
}
