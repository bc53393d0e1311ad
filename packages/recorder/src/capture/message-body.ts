import type { BodyCopy } from "./body-copy.ts";
import type { Capture } from "./capture.ts";
import { copiedStream } from "./copied-stream.ts";
import { inherited, shadow, shadowGetter } from "./shadow.ts";

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/**
 * Copies the body of a `Request` or `Response` as the application reads it, by its methods or as a
 * stream. The object stays what it is, because runtimes know it by its identity. What the runtime
 * itself reads from it, such as `fetch(request)`, does not pass here, and stays unseen.
 *
 * @param over called when the body has been read, been cancelled or failed
 */
export function shadowMessageBody(
  message: Request | Response,
  copy: BodyCopy,
  capture: Capture,
  over: (ended?: "aborted" | "error") => void,
): void {
  copy.unseen = true;
  const { arrayBuffer, blob } = message;
  for (const name of READERS) {
    // Not every runtime has `bytes`.
    if (typeof message[name] !== "function") continue;
    shadow(message, name, async () => {
      let whole: Blob | ArrayBuffer;
      let bytes: ArrayBuffer;
      try {
        whole = await (name === "blob" ? blob.call(message) : arrayBuffer.call(message));
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
      // Reads it again as the runtime does, with its errors.
      const type = message.headers.get("content-type");
      return new Response(bytes, type === null ? {} : { headers: { "content-type": type } })[
        name
      ]();
    });
  }
  let stream: ReadableStream | null | undefined;
  shadowGetter(message, "body", () => {
    if (stream !== undefined) return stream;
    const original = inherited(message, "body") as ReadableStream | null;
    // A stream in use cannot be read beside.
    stream = original?.locked === false ? copiedStream(original, copy, capture, over) : original;
    return stream;
  });
}
