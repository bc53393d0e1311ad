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

/** The first column is not made narrower than this. */
const NAMES_LEAST = 16;

const LINES = ["top", "bottom", "left", "right", "mid", "middle"];
const NO_LINES = Object.fromEntries(
  LINES.flatMap((line) => ["", "-mid", "-left", "-right"].map((end) => [`${line}${end}`, ""])),
);

/**
 * Draws a table without rules.
 *
 * @param width of a terminal, in characters: names in the first column are wrapped between words to fit
 */
export function drawGrid(
  { head, align, rows }: Grid,
  paint: Paint,
  width: number = 10_000,
): string {
  const widthOf = (_: string, column: number): number =>
    GAP + Math.max(...[head, ...rows].map((row) => Bun.stringWidth(row[column + 1]!)));
  const others = head
    .slice(1)
    .map(widthOf)
    .reduce((sum, own) => sum + own, GAP);
  const names = Math.max(NAMES_LEAST, width - others);
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": GAP },
    colAligns: [...align],
  });
  table.push(
    head.map((title) => paint("dim", title)),
    ...rows.map(([name, ...cells]) => [Bun.wrapAnsi(name!, names), ...cells]),
  );
  const lines = table.toString().split("\n");
  return lines.map((line) => `${" ".repeat(GAP)}${line.trimEnd()}`).join("\n");
}
