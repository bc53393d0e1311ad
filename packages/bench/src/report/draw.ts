import Table from "cli-table3";
import { styleText } from "node:util";
import type { Grid } from "./grid.ts";

type Format = Parameters<typeof styleText>[0];

/** Styles text, or returns it unchanged if colours are off. */
export type Paint = (format: Format, text: string) => string;

export const plain: Paint = (_format, text) => text;
const coloured: Paint = (format, text) => styleText(format, text, { validateStream: false });

/**
 * Colours if the stream is a terminal that supports them and NO_COLOR is unset or empty
 * (https://no-color.org).
 */
export function paintFor(
  stream: { readonly isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const wanted = stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return wanted ? coloured : plain;
}

/** Spaces before the first column and between columns. */
const GAP = 2;

/**
 * Draws a table without rules. Columns that do not fit the width follow in another block, which repeats
 * the first column.
 *
 * @param width of a terminal, in characters
 */
export function drawGrid(grid: Grid, paint: Paint, width: number = Infinity): string {
  const blocks = blocksOf(grid, width).map((columns) => drawColumns(grid, columns, paint));
  return blocks.join("\n\n");
}

function drawColumns({ head, align, rows }: Grid, columns: readonly number[], paint: Paint) {
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": GAP },
    colAligns: columns.map((column) => align[column]!),
  });
  table.push(
    columns.map((column) => paint("dim", head[column]!)),
    ...rows.map((row) => columns.map((column) => row[column]!)),
  );
  const lines = table.toString().split("\n");
  return lines.map((line) => `${" ".repeat(GAP)}${line.trimEnd()}`).join("\n");
}

/** The column numbers of each block: the first column and as many others as fit. */
function blocksOf({ head, rows }: Grid, width: number): number[][] {
  const widths = head.map((_, column) => {
    const cells = [head, ...rows].map((row) => Bun.stringWidth(row[column]!));
    return GAP + Math.max(...cells);
  });
  const blocks = [[0]];
  let left = width - widths[0]!;
  for (let column = 1; column < head.length; column++) {
    const block = blocks.at(-1)!;
    if (widths[column]! > left && block.length > 1) {
      blocks.push([0, column]);
      left = width - widths[0]!;
    } else block.push(column);
    left -= widths[column]!;
  }
  return blocks;
}

const NO_LINES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "",
};
