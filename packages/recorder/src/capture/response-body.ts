import type { BodyCopy } from "./body-copy.ts";
import type { Capture } from "./capture.ts";
import { copiedStream } from "./copied-stream.ts";
import { bun, RuntimeResponse } from "../runtime.ts";

/**
 * Called when a body has passed, or failed.
 *
 * @param type what the runtime sends as `Content-Type` although the response does not have it
 */
export type BodyOver = (ended?: "aborted" | "error", type?: string) => void;

/**
 * Copies the body of a response that a web handler answers with.
 *
 * A runtime sends a body in memory with its length, and a stream in chunks, so the response is
 * replaced by one of the same kind. Bun does not tell the kind. It derives the type of text and bytes
 * from what they were, which is not to be found out: they are seen only if the response names it.
 * Streams of its own, such as of a file or of another response, it sends with type and length, and in
 * ranges, and nobody else can tell them from others: streams are left as they are.
 *
 * @returns the response to send in its place, or undefined if there is no body or it is left unseen
 */
export function copyResponse(
  response: Response,
  copy: BodyCopy,
  capture: Capture,
  over: BodyOver,
): Response | Promise<Response> | undefined {
  copy.unseen = true;
  // It was sent before, which the runtime reports to the application.
  if (response.bodyUsed || response.status < 200) return undefined;
  if (bun !== undefined) {
    const kind = kindOf(response);
    if (kind === "none") {
      copy.unseen = false;
      copy.ended = true;
    }
    if (kind !== "memory" && kind !== "blob") return undefined;
    if (kind === "memory" && !response.headers.has(TYPE)) return undefined;
    return copyBlob(bun.peek(response.blob()), kind, response, copy, capture, over);
  }
  const { body } = response;
  if (body?.locked === true) return undefined;
  copy.unseen = false;
  if (body !== null) {
    // The global class may have replaced that of the response.
    const Class = response instanceof Response ? Response : RuntimeResponse;
    return new Class(copiedStream(body, copy, capture, over), response);
  }
  copy.ended = true;
  return undefined;
}

/** What Bun keeps as a blob is shared and not copied. It is there at once. */
function copyBlob(
  blob: Blob | Promise<Blob>,
  kind: "memory" | "blob",
  response: Response,
  copy: BodyCopy,
  capture: Capture,
  over: BodyOver,
): Response | Promise<Response> {
  if (blob instanceof Promise) {
    return blob.then((settled) => copyBlob(settled, kind, response, copy, capture, over));
  }
  const copyHead = async (): Promise<void> => {
    const head = await blob.slice(0, copy.limit).arrayBuffer();
    capture.aside(() => {
      copy.unseen = false;
      copy.addBytes(new Uint8Array(head));
      copy.skip(blob.size - head.byteLength);
      copy.ended = true;
    });
  };
  void copyHead().then(
    () => over(undefined, blob.type),
    () => over("error", blob.type),
  );
  const { headers, status, statusText } = response;
  // Bun adds the type of a blob to the headers once somebody has asked for the kind of the body. It
  // spells that header in another way if the response has no headers, so it gets none again.
  const names = [...headers.keys()];
  const added = names.length === 0 || (names.length === 1 && headers.get(TYPE) === blob.type);
  return new Response(blob, kind === "blob" && added ? { status, statusText } : response);
}

const TYPE = "content-type";
/** Bytes that an object occupies, with those of a body in memory. */
const memoryOf = bun && loadMemoryOf();
const EMPTY_BYTES = memoryOf?.(new Response());

type Kind = "none" | "memory" | "blob" | "unknown";

/**
 * What Bun has as a body: text or bytes, or a blob or file. As blobs are read as a whole, what may be a
 * stream is never taken for one: a stream, a response of `fetch`, which may still arrive, and one with
 * more than Bun's own properties, which may look like anything, are unknown.
 */
function kindOf(response: Response): Kind {
  const plain = Object.getPrototypeOf(response) === Response.prototype;
  if (!plain || response.url !== "" || Reflect.ownKeys(response).length > 0) return "unknown";
  return knowsKinds ? inspectedKind(response) : "unknown";
}

/** Whether this version of Bun shows bodies as those that are known. */
const knowsKinds = bun !== undefined && showsKinds();

function showsKinds(): boolean {
  const init = { status: 201, statusText: "Made", headers: { a: "b" } };
  const known: [kind: Kind, body: BodyInit | null][] = [
    ["memory", "text"],
    ["memory", new Uint8Array(1)],
    ["blob", new Blob(["blob"])],
    ["blob", Bun.file("file")],
    ["unknown", new ReadableStream()],
    ["none", ""],
    ["none", null],
  ];
  return known.every(([kind, body]) => inspectedKind(new Response(body, init)) === kind);
}

function inspectedKind(response: Response): Kind {
  if (memoryOf === undefined || EMPTY_BYTES === undefined) return "unknown";
  // The body is after the other properties, whose values cannot contain a line like this.
  const found = /\n {2}bodyUsed: false(?:,\n {2}([^\n]+))?\n/u.exec(Bun.inspect(response));
  if (found === null) return "unknown";
  const [, body] = found;
  // Neither is there a line for a response of `fetch` that still arrives.
  if (body === undefined) return "none";
  // Reading from a descriptor would move it.
  if (body.startsWith('FileRef ("')) return "blob";
  if (!body.startsWith("Blob (")) return "unknown";
  return memoryOf(response) > EMPTY_BYTES + response.statusText.length ? "memory" : "blob";
}

function loadMemoryOf(): ((object: object) => number) | undefined {
  const jsc: unknown = process.getBuiltinModule?.("bun:jsc");
  const { estimateShallowMemoryUsageOf: found } = (jsc ?? {}) as Record<string, unknown>;
  return typeof found === "function" ? (found as (object: object) => number) : undefined;
}
