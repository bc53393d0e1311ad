import type { Suite } from "../suite.ts";
import { drawGrid, plain } from "../report/draw.ts";

/** For `--list`: names, what they ask, and what they take. */
export function listSuites(suites: readonly Suite[]): string {
  const rows = suites.map(({ name, title, needsObjectStore, options = [] }) => [
    name,
    title,
    [
      ...(needsObjectStore ? ["an object store"] : []),
      ...options.map((option) => `--${option.name}`),
    ].join(", "),
  ]);
  const grid = {
    head: ["suite", "measures", "takes"],
    align: ["left", "left", "left"] as const,
    rows,
  };
  return `${drawGrid(grid, plain)}\n`;
}
