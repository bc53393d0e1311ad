import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { parseExcludeFile } from "@idk/snapshots";
import type { StoreLocation } from "@idk/storage/url";
import { usage } from "../errors/failures.ts";
import { readUpTo, withSmallFile } from "../input/small-file.ts";

/**
 * The patterns that a backup leaves out: those of files, those given, and last this program's own
 * places, which change while a backup runs: the store, if it is a folder, and the caches.
 */
export async function excludesOf(
  {
    exclude,
    excludeFile,
    iexclude,
    store,
  }: {
    readonly exclude: readonly string[];
    readonly excludeFile: readonly string[];
    readonly iexclude: readonly string[];
    readonly store: StoreLocation;
  },
  own: readonly string[],
): Promise<string[]> {
  const patterns: string[] = [];
  for (const path of excludeFile) patterns.push(...(await readExcludes(path)));
  patterns.push(...exclude, ...iexclude.map(inAnyCase));
  const places = [...(store.kind === "filesystem" ? [store.folder] : []), ...own];
  return [...patterns, ...places.map(exactly)];
}

/** Longer than any list that a walk could compare each file with. */
const FILE_MAX = 2 ** 24;

async function readExcludes(path: string): Promise<string[]> {
  const bytes = await withSmallFile(path, "exclude file", (handle) => readUpTo(handle, FILE_MAX));
  try {
    return parseExcludeFile(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    // A name in another encoding would match nothing, and so be stored.
    throw usage(`the exclude file ${path} is not UTF-8: write ? for bytes that are not`, error);
  }
}

/** A character, escaped or not, or a class of characters. */
const TOKEN = /\\.|\[[!^]?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]|./gsu;
/** A range or a character in a class. */
const MEMBER = /(?:\\.|[^\\])-(?:\\.|[^\\])|\\.|./gsu;

/** The pattern with both cases of each letter. */
export function inAnyCase(pattern: string): string {
  return pattern.replace(TOKEN, (token) => {
    if (token.length === 1 || token.startsWith("\\")) {
      const cases = casesOf(token);
      return cases.length === 1 ? token : `[${cases.join("")}]`;
    }
    const [, start = "", members = ""] = /^(\[[!^]?)(.*)\]$/su.exec(token) ?? [];
    const all = members.replace(MEMBER, (member) =>
      casesOf(member)
        // A range from one case to the other has no counterpart.
        .filter((each) => !/^\p{Lu}-\p{Ll}$|^\p{Ll}-\p{Lu}$/u.test(member) || each === member)
        .join(""),
    );
    return `${start}${all}]`;
  });
}

/** A text, in lower and in upper case, as far as these are as long. */
function casesOf(text: string): string[] {
  const cases = [text, text.toLowerCase(), text.toUpperCase()];
  return [...new Set(cases)].filter((each) => each.length === text.length);
}

/** The pattern of one path. */
function exactly(path: string): string {
  const whole = resolve(path);
  const real = existsSync(whole) ? realpathSync(whole) : whole;
  return real.replaceAll(/[\\*?[\]!]/gu, String.raw`\$&`);
}
