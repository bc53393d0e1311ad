import Table from "cli-table3";
import type { Grid } from "./grid.ts";
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Styles text, or leaves it as it is where nobody would see colours. */
export type Paint = (format: Format, text: string) => string;

export const plain: Paint = (_format, text) => text;
const coloured: Paint = (format, text) => styleText(format, text, { validateStream: false });

/**
 * Colours for terminals that show them and people who want them.
 *
 * See https://no-color.org: NO_COLOR counts where it is not empty.
 */
export function paintFor(
  stream: { readonly isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const wanted = stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return wanted ? coloured : plain;
}

/** Columns with two spaces between them, below a line with their titles. */
export function drawGrid({ head, align, rows }: Grid, paint: Paint): string {
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 2 },
    colAligns: [...align],
  });
  table.push(
    head.map((title) => paint("dim", title)),
    ...rows.map((row) => [...row]),
  );
  const lines = table.toString().split("\n");
  return lines.map((line) => `  ${line.trimEnd()}`).join("\n");
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
