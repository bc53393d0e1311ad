import { stat } from "node:fs/promises";
import { objectOf, readList } from "../input/list-file.ts";
import { count, printable } from "../output/text.ts";

/** The files that an earlier put has stored. */
export interface StoredFiles {
  /**
   * Whether a file was stored, and how it differs from what was stored; empty if it does not, as far
   * as the list shows.
   *
   * @returns undefined if it was not stored
   */
  differenceOf(path: string): Promise<string | undefined>;
}

/** Without a list. */
export const NONE_STORED: StoredFiles = { differenceOf: async () => undefined };

/** What a line shows of the file. */
interface Stored {
  /** Undefined in a plain line. */
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970; undefined in a plain line, or if no date was stored. */
  readonly mtime?: number | undefined;
}

/**
 * Reads the output of an earlier put: lines of address and path, or of JSON. Ignores other lines. JSON
 * has the size and the date of each file; plain lines have only the date of the list.
 */
export async function storedBefore(list: string, signal: AbortSignal): Promise<StoredFiles> {
  const stored = new Map<string, Stored>();
  for await (const line of readList(list, "\n", signal)) {
    const found = parsed(line);
    // The output contains escaped paths, and earlier versions escaped fewer characters.
    if (found !== undefined) stored.set(printable(found.path), found.stored);
  }
  const written = list === "-" ? undefined : await stat(list).catch(() => undefined);
  const listedAt = written?.isFile() === true ? written.mtimeMs : Infinity;
  return {
    async differenceOf(path) {
      // Standard input is new content each time.
      if (path === "-") return undefined;
      const before = stored.get(printable(path));
      if (before === undefined) return undefined;
      const now = await stat(path).catch(() => undefined);
      // A pipe or a device, and a file that is gone by now.
      if (now?.isFile() !== true) return "";
      const { bytes, mtime } = before;
      if (bytes === undefined) {
        return now.mtimeMs > listedAt ? `has been changed since ${list} was written` : "";
      }
      if (bytes !== now.size) return `has ${count(now.size, "byte")}, and ${bytes} were stored`;
      const date = Math.trunc(now.mtimeMs);
      if (mtime === undefined || mtime === date) return "";
      return `has the date ${dateText(date)}, and ${dateText(mtime)} was stored`;
    },
  };
}

function parsed(line: string): { readonly path: string; readonly stored: Stored } | undefined {
  const value = objectOf(line);
  if (value === undefined) {
    const path = /^[0-9a-f]{64} {2}(.+)$/u.exec(line)?.[1];
    return path === undefined ? undefined : { path, stored: {} };
  }
  const { file, address, bytes, mtime } = value;
  if (typeof file !== "string" || typeof address !== "string") return undefined;
  return { path: file, stored: { bytes: numberOf(bytes), mtime: numberOf(mtime) } };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function dateText(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}
