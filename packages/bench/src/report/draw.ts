import Table from "cli-table3";
import { styleText } from "node:util";
import { type Grid, markedRows } from "./grid.ts";

const STYLES = {
  good: "green",
  unclear: "yellow",
  bad: ["red", "bold"],
  absent: "dim",
  bold: "bold",
  dim: "dim",
} as const;

/** Styles text, or returns it unchanged if colours are off. */
export type Paint = (style: keyof typeof STYLES, text: string) => string;

export const plain: Paint = (_style, text) => text;
const coloured: Paint = (style, text) => styleText(STYLES[style], text, { validateStream: false });

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

/** The first column is not made narrower than this. */
const NAMES_LEAST = 16;

const LINES = ["top", "bottom", "left", "right", "mid", "middle"];
const NO_LINES = Object.fromEntries(
  LINES.flatMap((line) => ["", "-mid", "-left", "-right"].map((end) => [`${line}${end}`, ""])),
);

/**
 * Draws a table without rules. What is missed is in capitals, to be found without colours.
 *
 * @param width of a terminal, in characters: names in the first column are wrapped between words to fit
 */
export function drawGrid(grid: Grid, paint: Paint, width: number = 10_000): string {
  const { head, align } = grid;
  const rows = markedRows(grid, (tone, verdict) =>
    paint(tone, tone === "bad" ? verdict.toUpperCase() : verdict),
  );
  const widthOf = (column: number): number =>
    Math.max(...[head, ...rows].map((row) => Bun.stringWidth(row[column]!)));
  const others = head.slice(1).reduce((sum, _, i) => sum + GAP + widthOf(i + 1), GAP);
  const names = Math.max(NAMES_LEAST, width - others);
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": GAP },
    colAligns: [...align],
  });
  table.push(
    head.map((title) => paint("dim", title)),
    ...rows.map((row) => row.with(0, Bun.wrapAnsi(row[0]!, names))),
  );
  const lines = table.toString().split("\n");
  return lines.map((line) => `${" ".repeat(GAP)}${line.trimEnd()}`).join("\n");
}
