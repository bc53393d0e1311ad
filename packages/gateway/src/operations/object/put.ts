import type { Answer } from "../../http/connection/outgoing.ts";
import { parseTaggingHeader } from "../../xml/tags.ts";
import { emptyAnswer } from "../answers.ts";
import { contentOf, MEMORY_WAIT_MS } from "../bodies.ts";
import { checksumHeaders } from "../checksums.ts";
import { writeCondition } from "../conditions.ts";
import type { Operation, Request } from "../operation.ts";
import { encryptionHeaders, refuseUnsupported } from "../requests.ts";
import { keptHeaders } from "./headers.ts";

/** The most bytes of a single PUT, as on AWS. Larger objects are uploaded in parts. */
export const PUT_MAX: number = 5 * 2 ** 30;

/**
 * The checksum of content that comes without one, as on AWS. Only of short content: it takes twice the time
 * of the MD5, and clients that want it of long content send one.
 */
const STANDARD_CHECKSUM = { algorithm: "crc64nvme", algorithmMaxLength: 2 ** 20 } as const;

async function putObject(request: Request): Promise<Answer> {
  const { headers, key, objects, signal } = request;
  refuseUnsupported(headers);
  const target = {
    key,
    headers: keptHeaders(headers),
    tags: parseTaggingHeader(headers.get("x-amz-tagging") ?? ""),
    condition: writeCondition(headers),
    signal,
    memoryWaitMs: MEMORY_WAIT_MS,
  };
  const bucket = await request.bucket();
  const body = contentOf(request.body({ maxLength: PUT_MAX, ...STANDARD_CHECKSUM }));
  const { etag, checksums, size } = await objects.putObject({ ...target, bucket, body });
  return emptyAnswer(200, {
    etag: `"${etag}"`,
    "x-amz-object-size": `${size}`,
    ...checksumHeaders(checksums),
    ...encryptionHeaders(target.headers),
  });
}

export const PUT_OPERATIONS: readonly Operation[] = [
  {
    name: "PutObject",
    level: "object",
    method: "PUT",
    right: "write",
    scope: "object",
    run: putObject,
  },
];
