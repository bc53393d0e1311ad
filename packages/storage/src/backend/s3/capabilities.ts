import { createHash } from "node:crypto";
import { StorageError } from "../../errors.ts";
import type { BlobInfo, Capabilities } from "../backend.ts";
import { listBlobs } from "./listing.ts";
import { headBlob } from "./look.ts";
import { removeBlob, removeVersion } from "./removal.ts";
import type { Session } from "./session.ts";
import { checksumHeader, isMismatch, isUnknownHeader, send, type Upload } from "./upload.ts";

/**
 * Finds out what the place can do, by trying. What the credentials do not allow to find out counts
 * as not there.
 *
 * A small blob is stored only after it is known that it can be deleted again. Its name is its
 * address, so that what a crash leaves behind is no damaged blob.
 *
 * @param bytes of that blob; where it fails, the next attempt gets the same
 */
export async function findCapabilities(session: Session, bytes: Uint8Array): Promise<Capabilities> {
  const sha256 = hash(bytes);
  const upload: Upload = { name: sha256, bytes, sha256, signal: undefined };
  const verdict = await permitted(tryChecksum(session, upload));
  if (verdict !== undefined) {
    // A header that is taken and not checked would have the store attest what a writer claims.
    session.learned.checksums = verdict === "checked";
    session.learned.attests = verdict === "checked";
  }
  const versioned = await permitted(tryRemoval(session, sha256));
  const found =
    verdict === undefined || versioned === undefined
      ? await lookAround(session)
      : await tryBlob(session, upload, versioned);
  return {
    verifiesChecksums: found.info?.sha256 !== undefined,
    conditionalPut: found.conditionalPut,
    versions: found.versions,
    encryption: found.info?.encryption,
  };
}

interface Found {
  readonly info: BlobInfo | undefined;
  readonly conditionalPut: boolean;
  readonly versions: boolean;
}

/** The result, or undefined where the credentials do not allow to have it. */
async function permitted<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof StorageError && error.code === "permission") return undefined;
    throw error;
  });
}

/** Whether an upload with a wrong checksum is refused, as it should be. Then nothing is stored. */
async function tryChecksum(
  session: Session,
  upload: Upload,
): Promise<"checked" | "ignored" | "unknown"> {
  const wrong = checksumHeader(hash(new Uint8Array()));
  const refused = await send(
    session,
    upload,
    wrong,
    (answer) => isMismatch(answer) || isUnknownHeader(answer),
  );
  if (refused === undefined) return "ignored";
  return isMismatch(refused) ? "checked" : "unknown";
}

/**
 * Whether blobs can be deleted, tried on a name that is not there or holds what the upload above
 * was wrongly allowed to store. Fails where not.
 *
 * @returns whether the bucket is known to keep versions
 */
async function tryRemoval(session: Session, name: string): Promise<boolean> {
  const versioned = await seenVersioned(session);
  await removeBlob(session, name, undefined, versioned);
  if (!versioned) return false;
  // There was no version to try it on. One that does not exist is refused in many ways; only that
  // it is not allowed matters.
  await removeVersion(session, name, "none", undefined).catch((error: unknown) => {
    const harmless = error instanceof StorageError && error.code !== "permission";
    if (!harmless || error.transient) throw error;
  });
  return true;
}

/**
 * Whether it can be seen that the bucket keeps versions. Then a delete without a version, which
 * leaves a mark, is not even tried: who deletes may not be allowed to remove the mark.
 */
async function seenVersioned(session: Session): Promise<boolean> {
  return keepsVersions(session).catch((error: unknown) => {
    // Some credentials may not ask that, and some stores do not know the question.
    if (error instanceof StorageError && !error.transient) return false;
    throw error;
  });
}

/** Stores a blob, looks at it, stores it again where nothing may be, and removes it. */
async function tryBlob(session: Session, upload: Upload, versioned: boolean): Promise<Found> {
  const headers = session.learned.checksums ? checksumHeader(upload.sha256) : {};
  let versions: boolean | undefined;
  let info: BlobInfo | undefined;
  let conditionalPut: boolean;
  try {
    await send(session, upload, headers);
    info = await permitted(headBlob(session, upload.name, undefined));
    conditionalPut = await tryCondition(session, upload, headers);
  } finally {
    // Where there are versions, who may delete may still not be allowed to remove them. Then the
    // blob is hidden, which is as good as it gets.
    versions = await permitted(removeBlob(session, upload.name, undefined, versioned));
  }
  return { info, conditionalPut, versions: versions ?? true };
}

async function tryCondition(
  session: Session,
  upload: Upload,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (!session.place.conditionalPut) return false;
  const refused = await send(
    session,
    upload,
    { ...headers, "if-none-match": "*" },
    ({ status }) => status === 412 || status === 501 || status === 400,
  );
  return refused?.status === 412;
}

/** What can be seen without storing anything: of the bucket, and of a few blobs in it. */
async function lookAround(session: Session): Promise<Found> {
  const info = await permitted(someBlob(session));
  const versions = (await permitted(keepsVersions(session))) ?? false;
  return { info, conditionalPut: false, versions };
}

/** Blobs that are looked at, as long as none has a hash: others may have put some without. */
const LOOKS = 4;

/** The first blob that has a hash, or else the last that was looked at. */
async function someBlob(session: Session): Promise<BlobInfo | undefined> {
  let info: BlobInfo | undefined;
  let looks = 0;
  for await (const { name } of listBlobs(session, "", "", undefined)) {
    info = (await headBlob(session, name, undefined)) ?? info;
    looks += 1;
    // Of a store that is not believed, none ever has one.
    if (info?.sha256 !== undefined || looks === LOOKS || !session.learned.attests) return info;
  }
  return info;
}

async function keepsVersions({ connection, place }: Session): Promise<boolean> {
  if (place.versioned) return true;
  const command = new connection.sdk.GetBucketVersioningCommand({ Bucket: place.bucket });
  const { Status: status } = await connection.call(
    `ask whether ${place.bucket} keeps versions`,
    undefined,
    (client, options) => client.send(command, options),
  );
  // Also where it is suspended: what was there before stays.
  return status !== undefined;
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
