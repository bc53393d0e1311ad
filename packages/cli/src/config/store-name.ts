import type { Config, StoreEntry } from "./config.ts";
import { nearest } from "@idk/storage/url";
import { usage } from "../failures.ts";

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]*$/u;

/**
 * Whether a text can be the name of a store: one word, which no URL and no path with a slash is. A
 * folder is written ./work where there are named stores.
 */
export function isStoreName(text: string): boolean {
  return NAME.test(text);
}

/**
 * Finds the store that a text names. Where there are named stores, every word is a name, so that a
 * slip of the finger makes no new folder.
 *
 * @returns undefined where the text is a folder or a URL
 * @throws Failure `usage` for a name that there is not
 */
export function findStore(text: string, config: Config | undefined): StoreEntry | undefined {
  if (config === undefined || config.stores.size === 0 || !isStoreName(text)) return undefined;
  const entry = config.stores.get(text);
  if (entry !== undefined) return entry;
  const names = [...config.stores.keys()];
  const guess = nearest(text, names);
  const hint = guess === undefined ? `it has ${names.join(", ")}` : `did you mean ${guess}?`;
  throw usage(`no store ${text} in ${config.path} (${hint}); a folder is written ./${text}`);
}
