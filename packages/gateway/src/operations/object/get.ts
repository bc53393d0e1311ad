import type { Catalog } from "../../catalog/catalog.ts";
import type { StoredObject } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import type { ByteRange } from "../../objects/objects.ts";
import { MEMORY_WAIT_MS } from "../bodies.ts";
import { checksumHeaders } from "../checksums.ts";
import { checkRead, isRangeCurrent } from "../conditions.ts";
import { findObject, openObject } from "../find.ts";
import type { Operation, Request } from "../operation.ts";
import { partNumberOf } from "../parameters.ts";
import { refuseClientKeys } from "../requests.ts";
import { objectHeaders, OVERRIDE_PARAMETERS, overriddenHeaders } from "./headers.ts";
import { parseRange } from "./ranges.ts";

/** What a GET or HEAD answers, apart from the bytes. */
interface Head {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for the whole object. */
  readonly range: ByteRange | undefined;
}

/** Without an identity nothing can be read. Said before anything else, and with what to do. */
const WRITE_ONLY =
  "This gateway is write-only: it has no identity, so it cannot decrypt. Read through a gateway that has one.";

async function getObject(request: Request): Promise<Answer> {
  const { objects, signal } = request;
  if (!objects.canRead) throw new S3Error("AccessDenied", WRITE_ONLY);
  checkRequest(request);
  const opened = await openObject(request);
  const { status, headers, range } = await headOf(request, opened.object);
  if (status === 304) return { status, headers };
  if (opened.object.size === 0) return { status, headers };
  const pieces = objects.readObject(opened, range, { signal, memoryWaitMs: MEMORY_WAIT_MS });
  return { status, headers, body: await started(pieces, Number(headers["content-length"])) };
}

/**
 * Waits for the first piece, so that an object which cannot be read is an error and not a torn answer. If
 * that is all there is, it waits for the end, too, which may bring a fault.
 */
async function started(
  pieces: AsyncIterable<Uint8Array>,
  length: number,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done !== true && first.value.length === length) {
    await iterator.next();
    return first.value;
  }
  let isFirst = true;
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (!isFirst) return iterator.next();
        isFirst = false;
        return first;
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  };
}

async function headObject(request: Request): Promise<Answer> {
  checkRequest(request);
  const { status, headers } = await headOf(request, await findObject(request));
  return { status, headers };
}

/** What is wrong whether there is an object or not. Throws S3Error `InvalidRequest`, `InvalidArgument`. */
function checkRequest({ headers, query }: Request): void {
  refuseClientKeys(headers);
  if (query.has("partNumber")) partNumberOf(query);
}

async function headOf(
  { headers: asked, query, catalog }: Request,
  object: StoredObject,
): Promise<Head> {
  const headers = objectHeaders(object);
  const precondition = checkRead(asked, object);
  if (precondition === "failed") throw new S3Error("PreconditionFailed");
  if (precondition === "not-modified") {
    const { "content-type": _, ...rest } = headers;
    return { status: 304, headers: rest, range: undefined };
  }
  const rangeHeader = isRangeCurrent(asked, object) ? asked.get("range") : undefined;
  const isPart = query.has("partNumber");
  if (isPart && rangeHeader !== undefined) {
    throw new S3Error(
      "InvalidRequest",
      "Cannot specify both Range header and partNumber query parameter",
    );
  }
  const range = isPart
    ? await partRange(catalog, object, partNumberOf(query))
    : parseRange(rangeHeader, object.size);
  const length = range === undefined ? object.size : range.end - range.start;
  return {
    status: range === undefined ? 200 : 206,
    range,
    headers: {
      ...headers,
      ...overriddenHeaders(query),
      ...(isPart && object.parts > 0 && { "x-amz-mp-parts-count": `${object.parts}` }),
      ...(range !== undefined &&
        // A part of no bytes has no range.
        length > 0 && {
          "content-range": `bytes ${range.start}-${range.end - 1}/${object.size}`,
        }),
      // The checksum is that of the whole object, which may also be its only part.
      ...((range === undefined || (isPart && object.parts === 0)) &&
        asked.get("x-amz-checksum-mode")?.toUpperCase() === "ENABLED" &&
        checksumHeaders(object.checksums)),
      "content-length": `${length}`,
    },
  };
}

/** Parts are numbered without gaps, in the order of the parts that were uploaded. */
async function partRange(
  catalog: Catalog,
  object: StoredObject,
  number: number,
): Promise<ByteRange> {
  // An object that was not uploaded in parts is one part.
  if (object.parts === 0 && number === 1) return { start: 0, end: object.size };
  let start = 0;
  let after = 0;
  for (let position = 1; position <= Math.min(number, object.parts);) {
    const page = await catalog.listObjectParts(object, after, 1000);
    if (page.length === 0) break;
    for (const part of page) {
      if (position === number) return { start, end: start + part.size };
      start += part.size;
      after = part.number;
      position += 1;
    }
  }
  throw new S3Error("InvalidPartNumber", undefined, {
    details: { ActualPartCount: Math.max(1, object.parts), PartNumberRequested: number },
  });
}

const PARAMETERS = ["versionId", "partNumber", ...OVERRIDE_PARAMETERS];

export const GET_OPERATIONS: readonly Operation[] = [
  {
    name: "GetObject",
    level: "object",
    method: "GET",
    parameters: PARAMETERS,
    right: "read",
    scope: "object",
    run: getObject,
  },
  {
    name: "HeadObject",
    level: "object",
    method: "HEAD",
    parameters: PARAMETERS,
    right: "read",
    scope: "object",
    run: headObject,
  },
];
