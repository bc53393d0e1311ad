import {
  type FoundSnapshot,
  type Repository,
  type ResolveOptions,
  resolveSnapshot,
} from "@idk/snapshots";
import { codeOf, Failure } from "../errors/failures.ts";
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
        `there is no snapshot ${text}; of what \`idk put\` stored, \`idk stat\` shows the layout, and \`idk get\` the content`,
        error,
      );
    }
    if (isAddressOrPrefix(text) || !looksLikeSecret(text)) throw error;
    throw new Failure("not-found", `there is no snapshot ${quotedWord(text)}`);
  }
}
