import type { ChainId, RepositoryId } from "./identifiers.ts";
import { fromHex, hash, toHex, utf8 } from "@idk/storage/blobs";
import { CHAIN_LENGTH, CHAIN_NAME_MAX } from "../limits.ts";

/** The chain of the repository's settings. */
export const SETTINGS_CHAIN = "";
/** The chain of forgetting and of keys for readers that joined later. */
export const FORGETTING_CHAIN = ".";

// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/u;

/**
 * What is wrong with a name for a chain of snapshots; undefined if nothing is. A name has 1 to 255 bytes
 * of UTF-8, no control characters, and does not begin with a dot, which keeps the reserved names apart.
 */
export function faultOfChainName(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (!name.isWellFormed()) return "it is not well-formed Unicode";
  if (utf8(name).length > CHAIN_NAME_MAX) return `it is longer than ${CHAIN_NAME_MAX} bytes`;
  if (name.startsWith(".")) return "it begins with a dot";
  if (CONTROLS.test(name)) return "it has a control character";
  return undefined;
}

/** Whether a chain may have this name: one of the two reserved, or one for snapshots. */
export function isChainName(name: string): boolean {
  return (
    name === SETTINGS_CHAIN || name === FORGETTING_CHAIN || faultOfChainName(name) === undefined
  );
}

/** The chain of a name in a repository. It is bound to the name, so that no two chains have one name. */
export function chainOf(repository: RepositoryId, name: string): ChainId {
  const digest = hash(utf8("idk/v1/chain"), fromHex(repository), utf8(name));
  return toHex(digest.subarray(0, CHAIN_LENGTH)) as ChainId;
}
