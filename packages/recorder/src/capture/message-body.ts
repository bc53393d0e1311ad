import type { BodyCopy } from "./body-copy.ts";
import type { Capture } from "./capture.ts";
import { copiedStream, isUsed } from "./copied-stream.ts";
import { bun, RuntimeResponse } from "../runtime.ts";
import { inherited, shadow, shadowGetter } from "./shadow.ts";

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/**
 * Copies the body of a `Request` or `Response` as the application reads it, by its methods or, on
 * Node, as a stream. The object stays what it is, because runtimes know it by its identity. What the
 * runtime itself reads from it, such as `fetch(request)`, does not pass here, and stays unseen.
 *
 * Streams of Bun cannot be replaced: it takes the type and length of what it sends from them, and
 * `new Request(request)` takes the property `body`. Those of a response are over when they are asked
 * for, unless a method reads the body then.
 *
 * @param over called when the body has been read, is not seen, has been cancelled or failed
 */
export function shadowMessageBody(
  message: Request | Response,
  copy: BodyCopy,
  capture: Capture,
  over: (ended?: "aborted" | "error") => void,
): void {
  copy.unseen = true;
  let reads = false;
  const handOver = bun === undefined ? shadowStream(message, copy, capture, over) : callAtOnce;
  // The global classes may have been replaced.
  if (bun !== undefined && "status" in message) {
    shadowGetter(message, "body", () => {
      setImmediate(() => {
        if (!reads) over();
      });
      return inherited(message, "body");
    });
  }
  const { arrayBuffer, blob } = message;
  for (const name of READERS) {
    // Not every runtime has `bytes`.
    if (typeof message[name] !== "function") continue;
    shadow(message, name, async () => {
      reads = true;
      let whole: Blob | ArrayBuffer;
      let bytes: ArrayBuffer;
      try {
        whole = await handOver((): Promise<Blob | ArrayBuffer> =>
          name === "blob" ? blob.call(message) : arrayBuffer.call(message),
        );
        bytes = whole instanceof Blob ? await whole.arrayBuffer() : whole;
      } catch (error) {
        over("error");
        throw error;
      }
      capture.aside(() => {
        copy.unseen = false;
        copy.addBytes(new Uint8Array(bytes));
        copy.ended = true;
      });
      over();
      if (name === "arrayBuffer" || name === "blob") return whole;
      if (name === "bytes") return new Uint8Array(bytes);
      // Reads it again as the runtime does, with its errors.
      const type = message.headers.get("content-type");
      const init: ResponseInit = type === null ? {} : { headers: { "content-type": type } };
      return new RuntimeResponse(bytes, init)[name]();
    });
  }
}

/** Calls what reads a body as a whole, or clones it. */
type HandOver = <T>(take: () => T) => T;

const callAtOnce: HandOver = (take) => take();

/**
 * Gives the application a stream that copies, in place of the body's own.
 *
 * @returns what brings the body's own stream into the state of the one that was given
 */
function shadowStream(
  message: Request | Response,
  copy: BodyCopy,
  capture: Capture,
  over: (ended?: "aborted" | "error") => void,
): HandOver {
  let original: ReadableStream | null = null;
  let given: ReadableStream | undefined;
  const handOver: HandOver = (take) => {
    if (original === null || given === undefined || isUsed(original)) return take();
    if (!given.locked) {
      // It is in use from now on, and the message has another one if it was cloned.
      given.getReader();
      given = undefined;
      return take();
    }
    const reader = original.getReader();
    try {
      return take();
    } finally {
      reader.releaseLock();
    }
  };
  shadowGetter(message, "body", () => {
    if (given !== undefined) return given;
    original = inherited(message, "body") as ReadableStream | null;
    // A stream in use cannot be read beside.
    if (original === null || original.locked) return original;
    given = copiedStream(original, copy, capture, over, message);
    return given;
  });
  const clone = message.clone as () => Request | Response;
  shadow(message, "clone", () => handOver(() => clone.call(message)));
  return handOver;
}
