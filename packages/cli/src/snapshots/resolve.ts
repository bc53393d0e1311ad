import {
  type FoundSnapshot,
  type Repository,
  type ResolveOptions,
  resolveSnapshot,
} from "@idk/snapshots";
import { codeOf, Failure, messageOf } from "../errors/failures.ts";
import { looksLikeSecret, quotedWord } from "../output/secrets.ts";
import { isAddressOrPrefix } from "../blobs/address.ts";

/**
 * The snapshot that a text means. A name may look like a secret key, and a secret key may have been given
 * by mistake: then the message that there is none does not repeat it.
 */
export async function resolve(
  repository: Repository,
  text: string,
  options: ResolveOptions,
): Promise<FoundSnapshot> {
  try {
    return await resolveSnapshot(repository, text, options);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "not-found" && code !== "usage") throw error;
    if (code === "not-found" && isAddressOrPrefix(text)) {
      throw new Failure(
        "not-found",
        `there is no snapshot ${text}; if \`idk put\` printed this address, use \`idk get\` for the content, or \`idk stat\` for its layout`,
        error,
      );
    }
    const isSecret = !isAddressOrPrefix(text) && looksLikeSecret(text);
    if (code === "usage" && !isSecret) throw error;
    const named = isSecret ? quotedWord(text) : JSON.stringify(text);
    const message = `there is no snapshot ${named}; \`idk snapshots\` lists all`;
    throw new Failure("not-found", message, isSecret ? undefined : error);
  }
}

/** The library's message for a path, with what to do, because users may expect to leave out its beginning. */
export function withPathHint(error: unknown, snapshot: string): unknown {
  const message = messageOf(error);
  if (codeOf(error) !== "not-found" || !message.startsWith('the snapshot has no "')) return error;
  const name = looksLikeSecret(snapshot) ? "SNAPSHOT" : snapshot;
  return new Failure(
    "not-found",
    `${message}; give the absolute path, as \`idk ls ${name}\` prints it`,
    error,
  );
}
