import { createHash } from "node:crypto";
import { StorageError, usage } from "../../errors.ts";
import { isBlobName, type PutCallOptions } from "../backend.ts";
import { uploadHeaders } from "./encryption.ts";
import type { Refusal } from "./errors.ts";
import { drain, exchange, requireEtag } from "./requests.ts";
import { blobAt, type Session, type Signal } from "./session.ts";

/**
 * Uploads in one request. The body is hashed once: for the signature, which has the store refuse
 * what was damaged on its way, and as the checksum that the store keeps and attests later.
 */
export async function putBlob(
  session: Session,
  name: string,
  bytes: Uint8Array,
  { signal, sha256 = createHash("sha256").update(bytes).digest("hex") }: PutCallOptions,
): Promise<void> {
  // It becomes headers.
  if (!isBlobName(sha256)) throw usage("sha256 must be 64 lowercase hexadecimal digits");
  const { learned } = session;
  const upload = { name, bytes, sha256, signal };
  if (!learned.checksums) {
    await send(session, upload, {});
  } else if (await send(session, upload, checksumHeader(sha256), isUnknownHeader)) {
    await send(session, upload, {});
    // Only now is it known that the header was what the store did not like.
    learned.checksums = false;
    learned.attests = false;
  }
  learned.bucketSeen = true;
}

export interface Upload {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
  readonly signal: Signal;
}

/**
 * Sends one upload.
 *
 * @param expected tells a refusal that the caller can make something of
 * @returns that refusal, or undefined where the blob is stored
 */
export async function send(
  { connection, place }: Session,
  { name, bytes, sha256, signal }: Upload,
  headers: Readonly<Record<string, string>>,
  expected?: (answer: Refusal) => boolean,
): Promise<Refusal | undefined> {
  const doing = `store ${blobAt(place, name)}`;
  const sent = headers[CHECKSUM];
  return exchange<Refusal | undefined>(
    connection,
    place,
    {
      method: "PUT",
      key: place.folder + name,
      headers: {
        "x-amz-content-sha256": sha256,
        ...headers,
        ...uploadHeaders(place.encryption),
      },
      body: bytes,
      doing,
      signal,
    },
    async (answer) => {
      checkStored(await drain(answer), sha256, sent, doing);
      return undefined;
    },
    (answer) => (expected?.(answer) ? answer : undefined),
  );
}

const CHECKSUM = "x-amz-checksum-sha256";

export function checksumHeader(sha256: string): Record<string, string> {
  return { [CHECKSUM]: Buffer.from(sha256, "hex").toString("base64") };
}

/**
 * Whether the answer is one of a store that has the blob now. A web server may take anything with
 * a 200, and keep nothing.
 *
 * @param sent the checksum that went with the upload; a wrong one is sent on trial, and may come
 *   back
 */
function checkStored(
  headers: Headers,
  sha256: string,
  sent: string | undefined,
  doing: string,
): void {
  requireEtag(headers, doing);
  const own = checksumHeader(sha256)[CHECKSUM];
  const kept = headers.get(CHECKSUM);
  if (kept === null || kept === own || (sent !== undefined && sent !== own)) return;
  throw new StorageError(
    "unavailable",
    `cannot ${doing}: the store has received something else; try again`,
    { transient: true },
  );
}

const MISMATCH = new Set(["BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch"]);

/** Whether the store has found the body not to fit its checksum. */
export function isMismatch({ code }: Refusal): boolean {
  return MISMATCH.has(code);
}

/** As B2 says it on some of its clusters, and servers that know only the protocol's older part. */
export function isUnknownHeader(answer: Refusal): boolean {
  const { status, code, message } = answer;
  if ((status !== 400 && status !== 501) || isMismatch(answer)) return false;
  return (
    code === "NotImplemented" || /unsupported header|not implemented|x-amz-checksum/iu.test(message)
  );
}
