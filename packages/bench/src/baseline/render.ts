import { type Paint, drawGrid, plain } from "../report/draw.ts";
import type { Grid } from "../report/grid.ts";
import { draw } from "../report/markdown.ts";
import { counted, formatChange } from "../report/units.ts";
import { type BaselineChange, isRegression } from "./compare.ts";

/** The table of what got better or worse, for a terminal. Unchanged measurements are only counted. */
export function renderChanges(changes: readonly BaselineChange[], paint: Paint = plain): string {
  const word = (change: BaselineChange): string =>
    isRegression(change)
      ? paint(["red", "bold"], change.verdict.toUpperCase())
      : paint("green", change.verdict);
  const shown = changed(changes);
  const table = shown.length === 0 ? [] : [drawGrid(changeGrid(shown, word), paint)];
  return [describeChanges(changes), ...table].join("\n");
}

/** The same table in Markdown. */
export function changesMarkdown(changes: readonly BaselineChange[]): string {
  const word = (change: BaselineChange): string =>
    `${isRegression(change) ? "❌" : "✅"} ${change.verdict}`;
  const shown = changed(changes);
  const table = shown.length === 0 ? [] : [draw(changeGrid(shown, word))];
  return `${[`### ${describeChanges(changes)}`, ...table].join("\n\n")}\n`;
}

function changed(changes: readonly BaselineChange[]): BaselineChange[] {
  return changes
    .filter(({ verdict }) => verdict !== "same")
    .toSorted((a, b) => Number(isRegression(b)) - Number(isRegression(a)) || b.change - a.change);
}

function describeChanges(changes: readonly BaselineChange[]): string {
  const regressions = changes.filter(isRegression).length;
  const same = changes.filter(({ verdict }) => verdict === "same").length;
  const better = changes.length - regressions - same;
  return `against the baseline: ${counted(regressions, "regression")}, ${counted(better, "improvement")}, ${same} unchanged`;
}

function changeGrid(
  changes: readonly BaselineChange[],
  word: (change: BaselineChange) => string,
): Grid {
  return {
    head: ["suite", "measurement", "what", "baseline", "now", "change", "tolerance", "verdict"],
    align: ["left", "left", "left", "right", "right", "right", "right", "left"],
    rows: changes.map((change) => [
      change.suite,
      change.name,
      change.what === "time" ? "time × bound" : change.what,
      show(change, change.base),
      show(change, change.now),
      Number.isFinite(change.change) ? formatChange(change.change) : "from 0",
      change.what === "time" ? formatChange(change.tolerance) : "exact",
      word(change),
    ]),
  };
}

function show({ what }: BaselineChange, value: number): string {
  if (what !== "time") return value.toLocaleString("en-US");
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
