import type { ScannedBlob } from "@idk/storage";
import { pathMatcher, pathOf, typeMatcher } from "../content-path.ts";

/** Which contents are listed; undefined for any. */
export interface ContentFilter {
  /** A path or a pattern; see `pathMatcher`. */
  readonly name: string | undefined;
  /** A media type or a pattern; see `typeMatcher`. */
  readonly type: string | undefined;
  /** The earliest date, in milliseconds since 1970. */
  readonly since: number | undefined;
  /** Bytes that the content exceeds. */
  readonly larger: number | undefined;
}

type Scanned = Exclude<ScannedBlob, { readonly kind: "failed" }>;

/** @returns undefined if there is no filter */
export async function compileFilter({
  name,
  type,
  since,
  larger,
}: ContentFilter): Promise<((blob: Scanned) => boolean) | undefined> {
  if ([name, type, since, larger].every((each) => each === undefined)) return undefined;
  const matchesName = name === undefined ? undefined : await pathMatcher(name);
  const matchesType = type === undefined ? undefined : await typeMatcher(type);
  return (blob) => {
    const metadata = blob.kind === "opened" ? blob.stat.metadata : undefined;
    const path = metadata && pathOf(metadata);
    if (matchesName && (path === undefined || !matchesName(path))) return false;
    const stored = metadata?.type;
    if (matchesType && (typeof stored !== "string" || !matchesType(stored))) return false;
    if (since !== undefined && !((dateOf(blob) ?? Number.NaN) >= since)) return false;
    return larger === undefined || sizeOf(blob) > larger;
  };
}

/** The date of the content, or else when it was stored, in milliseconds since 1970. */
export function dateOf(blob: Scanned): number | undefined {
  const mtime = blob.kind === "opened" ? blob.stat.metadata.mtime : undefined;
  return typeof mtime === "number" ? mtime : blob.storedAt;
}

/** Bytes of content, or else as stored. */
export function sizeOf(blob: Scanned): number {
  return blob.kind === "opened" ? blob.stat.size : blob.size;
}
