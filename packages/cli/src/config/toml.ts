import { type AST, ParseError, parseTOML } from "toml-eslint-parser";
import { unquotedString } from "./unquoted.ts";

export type TomlValue = string | number | boolean | readonly TomlValue[];

/** A value or table of the file. */
export interface TomlEntry {
  /** Its full path of keys. */
  readonly key: readonly string[];
  /** Undefined for a table, which is listed even if it is empty. */
  readonly value: TomlValue | undefined;
  /** 1 or more. */
  readonly line: number;
}

/** An error at one position of a file. */
export class TomlError extends Error {
  override readonly name = "TomlError";
  readonly line: number;
  /** 1 or more; undefined if it concerns the whole line. */
  readonly column: number | undefined;

  constructor(message: string, line: number, column?: number) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

/**
 * Parses TOML 1.0 into a flat list in the order of the file: `[store.work]` with `url = "…"` gives
 * the table store.work and the value store.work.url.
 *
 * @throws TomlError
 */
export function parseToml(text: string): TomlEntry[] {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text, { tomlVersion: "1.0.0" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const { message, lineNumber, column } = error;
    const unquoted = unquotedString(text.split("\n")[lineNumber - 1] ?? "");
    if (unquoted !== undefined) throw new TomlError(unquoted, lineNumber);
    throw new TomlError(message.charAt(0).toLowerCase() + message.slice(1), lineNumber, column + 1);
  }
  return program.body[0].body.flatMap((node) => entriesOf(node, []));
}

function entriesOf(
  node: AST.TOMLKeyValue | AST.TOMLTable,
  above: readonly string[],
): readonly TomlEntry[] {
  const { line } = node.loc.start;
  const key = [...above, ...node.key.keys.map((part) => ("name" in part ? part.name : part.value))];
  if (node.type === "TOMLTable") {
    if (node.kind === "array") throw new TomlError(`${key.join(".")} cannot be repeated`, line);
    return [table(key, line), ...node.body.flatMap((item) => entriesOf(item, key))];
  }
  const { value } = node;
  if (value.type !== "TOMLInlineTable") return [{ key, value: valueOf(value), line }];
  return [table(key, line), ...value.body.flatMap((item) => entriesOf(item, key))];
}

function table(key: readonly string[], line: number): TomlEntry {
  return { key, value: undefined, line };
}

function valueOf(node: AST.TOMLContentNode): TomlValue {
  const { line, column } = node.loc.start;
  if (node.type === "TOMLArray") return node.elements.map(valueOf);
  if (node.type === "TOMLInlineTable" || node.value instanceof Date) {
    throw new TomlError("must be a string, a number, true, false or a list", line, column + 1);
  }
  return node.value;
}
