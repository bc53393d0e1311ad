import type { PutReport } from "@idk/storage";
import { formatBytes, printable, roundBytes } from "../output/text.ts";

/** The output lines of a put of several files. */
export interface PutTable {
  /**
   * Adds a stored file.
   *
   * @param isNamed whether its name is stored with it; if not, its address is never omitted
   * @returns the text to print at once, if any
   */
  add(file: StoredFile, isNamed: boolean): Promise<string | undefined>;
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
    add: async ({ address, path }) => `${address}  ${printable(path)}`,
    omitted: 0,
  };
}

/**
 * A table for a terminal. Prints each line at once: content whose address was never printed cannot be
 * found if the process is killed.
 *
 * @param isListed whether the user can list an address by the name of its file, so that lines may be
 *   omitted; called once, when there are too many
 */
export function terminalTable(isListed: (address: string) => Promise<boolean>): PutTable {
  let header = `${"ADDRESS".padEnd(ADDRESS_WIDTH)}  ${"SIZE".padStart(SIZE_WIDTH)}  FILE\n`;
  let [printed, omitted] = [0, 0];
  let mayOmit: Promise<boolean> | undefined;
  return {
    async add({ address, bytes, path }, isNamed) {
      if (isNamed && printed >= FEW && (await (mayOmit ??= isListed(address)))) {
        omitted += 1;
        return undefined;
      }
      const row = `${address}  ${roundBytes(bytes).padStart(SIZE_WIDTH)}  ${printable(path)}`;
      const text = header + row;
      header = "";
      printed += 1;
      return text;
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
