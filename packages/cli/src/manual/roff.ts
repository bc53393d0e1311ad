/*
 * Formats text as mdoc, the macros of BSD's manual pages, which groff and mandoc both support.
 */

/** Escapes text for roff. Text in backticks becomes bold. */
export function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replace(/`([^`]*)`/gu, "\\fB$1\\fR")
    .replace(/[^\n -~]/gu, (character) => `\\[u${hexOf(character)}]`);
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

const WIDTH = 78;

/** The lines of a paragraph. In roff, each sentence starts on a new line. */
export function filled(text: string): string[] {
  const lines: string[] = [];
  for (const sentence of escaped(text).split(/(?<=\.) (?=[A-Z])/u)) {
    let line = "";
    for (const word of sentence.split(" ")) {
      if (line !== "" && line.length + word.length >= WIDTH) {
        lines.push(line);
        line = "";
      }
      line += line === "" ? word : ` ${word}`;
    }
    lines.push(line);
  }
  return lines.map((line) => line.replace(/^(?=[.'])/u, "\\&"));
}

export interface Item {
  /** A line of macros. */
  readonly tag: string;
  readonly text: string;
}

export function list(items: readonly Item[]): string[] {
  const lines = items.flatMap(({ tag, text }) => [`.It ${tag}`, ...(text ? filled(text) : [])]);
  return [".Bl -tag -width 6n", ...lines, ".El"];
}
