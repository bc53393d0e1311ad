import { type CborItem, encodeCborT, fromHex } from "@idk/storage/blobs";
import { RECORD_MAX, SECRET_LENGTH } from "../limits.ts";
import { type RepositoryId, type SessionId, repositoryId } from "../names/identifiers.ts";
import { decodedItem, decoding, malformed, record, versionOne } from "../checks.ts";
import { decodeSessions } from "./session-keys.ts";

/** The secrets of sessions, from a reader for readers that joined later. */
export interface SessionSecrets {
  readonly repository: RepositoryId;
  /** By session, its secret of 32 bytes. */
  readonly secrets: ReadonlyMap<SessionId, Uint8Array>;
}

/**
 * Encodes keys: the content of a blob of the type `RECORD_TYPES.keys`. Secret.
 *
 * @throws StorageError `tree` if a reader would refuse it: more than 2^20 bytes, about 14,000 sessions
 */
export function encodeSessionSecrets(keys: SessionSecrets): Uint8Array<ArrayBuffer> {
  const bytes = encodeCborT(
    new Map<string, CborItem>([
      ["v", 1],
      ["r", fromHex(keys.repository)],
      ["k", keys.secrets],
    ]),
  );
  decodeSessionSecrets(bytes);
  return bytes;
}

/**
 * Decodes keys. The caller compares the repository with its own.
 *
 * @throws StorageError `tree`
 */
export function decodeSessionSecrets(bytes: Uint8Array): SessionSecrets {
  return decoding("tree", "the keys of sessions", () => {
    const fields = record(decodedItem(bytes, RECORD_MAX), "it", ["v", "r", "k"]);
    versionOne(fields.v);
    return {
      repository: repositoryId(fields.r, "the repository"),
      secrets: decodeSessions(fields.k, Infinity, (secret) => {
        if (secret.length !== SECRET_LENGTH) throw malformed("a session's secret is not 32 bytes");
      }),
    };
  });
}
