import { StorageError } from "../../errors.ts";
import type { BlobInfo } from "../backend.ts";
import { accessHeaders, encryptionIn } from "./encryption.ts";
import { drain, EMPTY_SHA256, exchange, requireEtag } from "./requests.ts";
import { blobAt, lengthIn, type Session, type Signal } from "./session.ts";

/** What the store knows of a blob, or undefined where it has none. */
export async function headBlob(
  session: Session,
  name: string,
  signal: Signal,
): Promise<BlobInfo | undefined> {
  const { learned } = session;
  let found = await look(session, name, learned.attests, signal);
  if (found === "bad request") {
    found = await look(session, name, false, signal);
    learned.attests = false;
  }
  if (typeof found === "object") return found;
  await requireBucket(session, signal);
  return undefined;
}

/**
 * Asks for a blob's headers; with its checksum where the store is known to check it, for elsewhere
 * it may be whatever a writer claims. A store without checksums may find that a bad request, and
 * cannot say why, for an answer to HEAD has no body.
 */
async function look(
  { connection, place, learned }: Session,
  name: string,
  checksums: boolean,
  signal: Signal,
): Promise<BlobInfo | "missing" | "bad request"> {
  const doing = `look at ${blobAt(place, name)}`;
  return exchange<BlobInfo | "missing" | "bad request">(
    connection,
    place,
    {
      method: "HEAD",
      key: place.folder + name,
      headers: {
        "x-amz-content-sha256": EMPTY_SHA256,
        ...(checksums ? { "x-amz-checksum-mode": "ENABLED" } : {}),
        ...accessHeaders(place.encryption),
      },
      doing,
      signal,
    },
    async (answer) => {
      const headers = await drain(answer);
      requireEtag(headers, doing);
      learned.bucketSeen = true;
      return infoIn(headers, checksums);
    },
    ({ status, code }) => {
      if (code === "NoSuchKey") learned.bucketSeen = true;
      if (checksums && (status === 400 || status === 501)) return "bad request";
      return status === 404 && code !== "NoSuchBucket" ? "missing" : undefined;
    },
  );
}

function infoIn(headers: Headers, trusted: boolean): BlobInfo {
  const size = lengthIn(headers);
  if (size === undefined) throw new StorageError("unavailable", "the store tells no length");
  const storedAt = Date.parse(headers.get("last-modified") ?? "");
  return {
    size,
    ...(Number.isNaN(storedAt) ? {} : { storedAt }),
    sha256: trusted ? sha256In(headers) : undefined,
    encryption: encryptionIn(headers),
  };
}

/**
 * The SHA-256 of the whole object. What was uploaded in parts has one of the parts' hashes, marked
 * by its type and by the number of parts behind it.
 */
function sha256In(headers: Headers): string | undefined {
  const type = headers.get("x-amz-checksum-type") ?? "FULL_OBJECT";
  const value = headers.get("x-amz-checksum-sha256") ?? "";
  if (type !== "FULL_OBJECT" || !/^[A-Za-z0-9+/]{43}=$/u.test(value)) return undefined;
  return Buffer.from(value, "base64").toString("hex");
}

/**
 * Tells a missing blob from a missing bucket, which a mistyped name must not hide, where the
 * answer does not say. Asks once.
 */
export async function requireBucket(
  { connection, place, learned }: Session,
  signal: Signal,
): Promise<void> {
  if (learned.bucketSeen) return;
  await exchange<void>(
    connection,
    place,
    {
      method: "HEAD",
      key: undefined,
      headers: { "x-amz-content-sha256": EMPTY_SHA256 },
      doing: `look into the bucket ${place.bucket}`,
      signal,
    },
    async (answer) => void (await drain(answer)),
  ).catch((error: unknown) => {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === "not-found") {
      throw new StorageError(
        "unavailable",
        `the bucket ${place.bucket} does not exist; check its name, or create it`,
        { cause: error },
      );
    }
    // Who may look at blobs need not be allowed to look at the bucket.
    if (error.code !== "permission") throw error;
  });
  learned.bucketSeen = true;
}
