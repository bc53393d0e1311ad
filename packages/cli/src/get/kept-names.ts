import type { Metadata } from "@idk/storage";
import { safeName } from "./safe-name.ts";

/**
 * The metadata key under which `idk put FOLDER` stores the path of a file relative to the folder,
 * with `/`. `name` is a label and never a path.
 */
export const PATH_KEY = "idk.path";

const DEPTH_MAX = 64;
const LENGTH_MAX = 1024;

export interface KeptName {
  /** The folders and the file, each safe to join; never empty. */
  readonly segments: readonly string[];
  /** The stored name, if it differs. */
  readonly original?: string | undefined;
}

/** @returns undefined if the content has no usable name */
export function keptName(metadata: Metadata): KeptName | undefined {
  const path = metadata[PATH_KEY];
  if (typeof path === "string") {
    const segments = path
      .split("/")
      .filter((part) => part !== "" && part !== ".")
      .map(safeName);
    const whole = segments.join("/");
    const fits = segments.length <= DEPTH_MAX && Buffer.byteLength(whole) <= LENGTH_MAX;
    if (segments.length > 0 && fits) return { segments, original: unlessSame(path, whole) };
  }
  const { name } = metadata;
  if (typeof name !== "string" || name === "") return undefined;
  const safe = safeName(name);
  return { segments: [safe], original: unlessSame(name, safe) };
}

/** Ignores differences in Unicode normalization. */
function unlessSame(original: string, safe: string): string | undefined {
  return original.normalize("NFC") === safe ? undefined : original;
}
