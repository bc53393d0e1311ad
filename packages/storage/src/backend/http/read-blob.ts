import { StorageError } from "../../errors.ts";
import type { BlobInfo } from "../backend.ts";
import { contentLength, type HttpResponse } from "./response.ts";

/** The header of a request for as much from `offset` on as the buffer holds. */
export function rangeHeader(offset: number, buffer: Uint8Array): { readonly range: string } {
  return { range: `bytes=${offset}-${offset + Math.max(0, buffer.length - 1)}` };
}

/**
 * Reads a whole blob into the beginning of the buffer. Returns its length.
 *
 * @param onReceived see `ReadCallOptions`
 */
export async function readWhole(
  buffer: Uint8Array,
  response: HttpResponse,
  action: string,
  onReceived?: (length: number) => void,
): Promise<number> {
  const tooLong = (): StorageError =>
    new StorageError("limit", `cannot ${action}: it is longer than ${buffer.length} bytes`);
  const announced = contentLength(response.headers);
  if (announced !== undefined && announced > buffer.length) {
    response.cancel();
    throw tooLong();
  }
  let length = 0;
  onReceived?.(0);
  for await (const chunk of response.chunks()) {
    if (length + chunk.length > buffer.length) throw tooLong();
    buffer.set(chunk, length);
    length += chunk.length;
    onReceived?.(length);
  }
  if (announced !== undefined && length !== announced) throw truncated(length, announced, action);
  return length;
}

/** Reads no more than fits, even if the server ignores ranges and sends the whole blob. */
export async function readRange(
  buffer: Uint8Array,
  offset: number,
  response: HttpResponse,
  action: string,
): Promise<number> {
  const announced = contentLength(response.headers);
  let before = offset - startOf(response, offset);
  if (before < 0) {
    response.cancel();
    throw new StorageError("unavailable", `cannot ${action}: the server sent another range`);
  }
  let received = 0;
  let length = 0;
  for await (const chunk of response.chunks()) {
    received += chunk.length;
    const part = chunk.subarray(before, before + buffer.length - length);
    before = Math.max(0, before - chunk.length);
    buffer.set(part, length);
    length += part.length;
    if (length === buffer.length) return length;
  }
  if (announced !== undefined && received !== announced)
    throw truncated(received, announced, action);
  return length;
}

/** Where the body starts. Browsers hide the range unless the server's CORS rules expose it. */
function startOf({ status, headers }: HttpResponse, requested: number): number {
  const [, start] = /^bytes (\d{1,15})-/u.exec(headers.get("content-range") ?? "") ?? [];
  return start === undefined ? (status === 206 ? requested : 0) : Number(start);
}

/** What the headers of a response to HEAD report of a blob. */
export function blobInfo(headers: Headers, action: string): BlobInfo {
  const size = contentLength(headers);
  if (size === undefined) {
    throw new StorageError("unavailable", `cannot ${action}: the response has no content length`);
  }
  const storedAt = Date.parse(headers.get("last-modified") ?? "");
  return Number.isNaN(storedAt) ? { size } : { size, storedAt };
}

function truncated(length: number, announced: number, action: string): StorageError {
  return new StorageError(
    "unavailable",
    `cannot ${action}: the response ended after ${length} of ${announced} bytes; try again`,
    { transient: true },
  );
}
