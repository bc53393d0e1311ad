import { printable } from "./text.ts";
import { roundBytes } from "./sizes.ts";

/** Lines for the results of a put of several files. */
export interface PutTable {
  line(address: string, bytes: number, path: string): string;
}

const ADDRESS_WIDTH = 64;
const SIZE_WIDTH = 10;

/** The address and the path for programs; on a terminal a table for people. */
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
