const BEGIN = "<!-- bun packages/bench/src/scaling.ts --write -->\n";
const END = "\n<!-- end -->";

/**
 * A document with the report between its marks.
 *
 * @throws Error where it does not have both marks
 */
export function withReport(document: string, report: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error("the document has no place for the tables");
  return `${document.slice(0, begin)}${BEGIN}\n${report}\n${document.slice(end)}`;
}
