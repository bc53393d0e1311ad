import type { Metadata } from "@idk/storage";
import { messageOf, usage } from "../errors/failures.ts";
import { PATH_KEY } from "../get/kept-names.ts";

/** The path of content below the folder it was stored with, or else its name; a sender chose it. */
export function pathOf(metadata: Metadata): string | undefined {
  const path = metadata[PATH_KEY];
  if (typeof path === "string" && path !== "") return path;
  const { name } = metadata;
  return typeof name === "string" && name !== "" ? name : undefined;
}

export type Matcher = (path: string) => boolean;

/**
 * Compiles a path or a pattern. A path stands for the content of this path, and for all below it. A
 * pattern with a slash, as `idk find` has them, is compared with whole paths. Anything without a slash
 * is also compared with the last part alone.
 *
 * @throws Failure `usage` if the pattern is malformed
 */
export async function pathMatcher(pattern: string): Promise<Matcher> {
  const wanted = componentsOf(pattern);
  if (isPattern(pattern)) {
    const matches = await finder(pattern.normalize("NFC"));
    return (path) => {
      const parts = componentsOf(path);
      return parts.length > 0 && matches(parts);
    };
  }
  if (wanted.length === 0) throw usage(`${JSON.stringify(pattern)} is not a stored path`);
  return (path) => {
    const parts = componentsOf(path);
    if (wanted.length === 1 && parts.at(-1) === wanted[0]) return true;
    return wanted.every((part, at) => part === parts[at]);
  };
}

/** Whether a text is a pattern, as opposed to a path. */
export function isPattern(text: string): boolean {
  return /[*?[\\]/u.test(text);
}

export function samePath(a: string, b: string): boolean {
  return componentsOf(a).join("/") === componentsOf(b).join("/");
}

/** Compiles a media type, or a pattern of them: `image/png`, `image/*`, or `image` for all of its kind. */
export async function typeMatcher(pattern: string): Promise<Matcher> {
  const whole = pattern.toLowerCase();
  const matches = await finder(whole.includes("/") ? whole : `${whole}/*`);
  return (type) => {
    const [essence = ""] = type.toLowerCase().split(";");
    return matches(essence.trim().split("/"));
  };
}

async function finder(pattern: string): Promise<(parts: readonly string[]) => boolean> {
  // Load the code of snapshots only if it is needed.
  const { compileFinder } = await import("@idk/snapshots");
  try {
    return compileFinder(pattern);
  } catch (error) {
    throw usage(messageOf(error), error);
  }
}

/** Systems write accents in different ways. */
function componentsOf(path: string): string[] {
  return path
    .normalize("NFC")
    .split("/")
    .filter((part) => part !== "" && part !== ".");
}
