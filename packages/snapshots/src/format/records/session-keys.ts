import type { CborItem } from "@idk/storage/blobs";
import { malformed, map, byteString } from "../checks.ts";
import { type SessionId, isSixteenBytes } from "../names/identifiers.ts";

/** Decodes a map of sessions, and what it has for each. */
export function decodeSessions(
  item: CborItem,
  max: number,
  checkValue: (value: Uint8Array) => void,
): ReadonlyMap<SessionId, Uint8Array> {
  const sessions = map(item, "the keys of sessions");
  if (sessions.size > max) {
    throw malformed(`it has the keys of ${sessions.size} sessions, at most ${max} are allowed`);
  }
  for (const [session, value] of sessions) {
    if (!isSixteenBytes(session)) throw malformed("a session is not 32 hexadecimal digits");
    checkValue(byteString(value, "the key of a session"));
  }
  return sessions as ReadonlyMap<string, unknown> as ReadonlyMap<SessionId, Uint8Array>;
}
