import type { PutReport } from "@idk/storage";
import { formatBytes, printable, roundBytes } from "../output/text.ts";

/** The output lines of a put of several files. */
export interface PutTable {
  /**
   * Adds a stored file.
   *
   * @param isNamed whether `idk ls --long` lists it by name, so that its address may be omitted
   * @returns the text to print at once, if any
   */
  add(file: StoredFile, isNamed: boolean): string | undefined;
  /** The lines of few files, to print at the end. */
  end(): string | undefined;
  /** How many files have no line. */
  readonly omitted: number;
}

export interface StoredFile {
  readonly address: string;
  readonly bytes: number;
  readonly path: string;
}

const ADDRESS_WIDTH = 64;
const SIZE_WIDTH = 10;

/** On a terminal, more lines than these would push everything else off the screen. */
const FEW = 20;

/** Prints addresses and paths at once, for programs. */
export function plainTable(): PutTable {
  return {
    add: ({ address, path }) => `${address}  ${printable(path)}`,
    end: () => undefined,
    omitted: 0,
  };
}

/**
 * A table for a terminal.
 *
 * @param all whether to print each line at once, however many there are
 */
export function terminalTable(all: boolean): PutTable {
  let header = `${"ADDRESS".padEnd(ADDRESS_WIDTH)}  ${"SIZE".padStart(SIZE_WIDTH)}  FILE\n`;
  const held: string[] = [];
  let omitted = 0;
  const withHeader = (lines: string): string => {
    const text = header + lines;
    header = "";
    return text;
  };
  return {
    add({ address, bytes, path }, isNamed) {
      const row = `${address}  ${roundBytes(bytes).padStart(SIZE_WIDTH)}  ${printable(path)}`;
      if (all || !isNamed) return withHeader(row);
      omitted += 1;
      if (omitted <= FEW) held.push(row);
      return undefined;
    },
    end() {
      if (omitted === 0 || omitted > FEW) return undefined;
      omitted = 0;
      return withHeader(held.splice(0).join("\n"));
    },
    get omitted() {
      return omitted;
    },
  };
}

/** What a put did not upload because the store has it; undefined if there is none. */
export function describeSkipped({
  chunks,
  skippedChunks,
  skippedBytes,
}: Pick<PutReport, "chunks" | "skippedChunks" | "skippedBytes">): string | undefined {
  if (skippedBytes === 0 && skippedChunks === 0) return undefined;
  const parts = skippedChunks === 0 ? "" : `${skippedChunks} of ${chunks} chunks, `;
  return `skipped ${parts}${formatBytes(skippedBytes)}, already in the store`;
}
