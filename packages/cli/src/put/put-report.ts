import type { PutReport } from "@idk/storage";
import { formatBytes, printable, roundBytes } from "../output/text.ts";

/** The output lines of a put of several files. */
export interface PutTable {
  line(address: string, bytes: number, path: string): string;
}

const ADDRESS_WIDTH = 64;
const SIZE_WIDTH = 10;

/** The address and path; on a terminal, a table. */
export function createPutTable(terminal: boolean): PutTable {
  if (!terminal) return { line: (address, _, path) => `${address}  ${printable(path)}` };
  let header = `${"ADDRESS".padEnd(ADDRESS_WIDTH)}  ${"SIZE".padStart(SIZE_WIDTH)}  FILE\n`;
  return {
    line(address, bytes, path) {
      const row = `${address}  ${roundBytes(bytes).padStart(SIZE_WIDTH)}  ${printable(path)}`;
      const lines = header + row;
      header = "";
      return lines;
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
