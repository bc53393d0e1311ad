import type { BodyCopy } from "./body-copy.ts";
import type { Capture } from "./capture.ts";
import { copiedStream } from "./copied-stream.ts";

/**
 * Copies the body of a response that a web handler answers with.
 *
 * A runtime sends a body in memory with its length, and a stream in chunks, so the response is
 * replaced by one of the same kind. Bun does not tell the kind, and derives the type of a body in
 * memory from what it was made of: such a body is seen only if the response names its type.
 *
 * @param over called when the body has passed, is not seen, or failed
 * @returns the response to send
 */
export function copyResponse(
  response: Response,
  copy: BodyCopy,
  capture: Capture,
  over: (ended?: "aborted" | "error") => void,
): Response | Promise<Response> {
  const unseen = (): Response => {
    copy.unseen = true;
    over();
    return response;
  };
  // It was sent before, which the runtime reports to the application.
  if (response.bodyUsed || response.status < 200) return unseen();
  if (bun !== undefined) {
    const kind = kindOf(response);
    if (kind === "memory" && response.headers.has("content-type")) {
      return copyBlob(bun.peek(response.blob()), response, copy, capture, over);
    }
    if (kind !== "stream") return unseen();
  }
  const { body } = response;
  if (body === null) {
    copy.ended = true;
    over();
    return response;
  }
  return new Response(copiedStream(body, copy, capture, undefined, over), response);
}

/** Bun's body in memory is a blob, which is shared and not copied. It is there at once. */
function copyBlob(
  blob: Blob | Promise<Blob>,
  response: Response,
  copy: BodyCopy,
  capture: Capture,
  over: (ended?: "aborted" | "error") => void,
): Response | Promise<Response> {
  if (blob instanceof Promise) {
    return blob.then((settled) => copyBlob(settled, response, copy, capture, over));
  }
  const copyHead = async (): Promise<void> => {
    const head = await blob.slice(0, copy.limit).arrayBuffer();
    capture.aside(() => {
      copy.addBytes(new Uint8Array(head));
      copy.skip(blob.size - head.byteLength);
      copy.ended = true;
    });
  };
  void copyHead().then(
    () => over(),
    () => over("error"),
  );
  return new Response(blob, response);
}

const bun = typeof Bun === "undefined" ? undefined : Bun;
/** Bytes that an object occupies, with those of a body in memory. */
const memoryOf = bun && loadMemoryOf();
const EMPTY_BYTES = memoryOf?.(new Response());

/** How Bun sends a body; `stream` if there is none. */
function kindOf(response: Response): "memory" | "file" | "stream" | "unknown" {
  if (memoryOf === undefined || EMPTY_BYTES === undefined) return "unknown";
  if (memoryOf(response) > EMPTY_BYTES) return "memory";
  // It begins with the size that Bun knows: that of a file, and none of a stream.
  return Bun.inspect(response).startsWith("Response (0 KB)") ? "stream" : "file";
}

function loadMemoryOf(): ((object: object) => number) | undefined {
  const jsc: unknown = process.getBuiltinModule?.("bun:jsc");
  const { estimateShallowMemoryUsageOf: found } = (jsc ?? {}) as Record<string, unknown>;
  return typeof found === "function" ? (found as (object: object) => number) : undefined;
}
