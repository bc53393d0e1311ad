import { readFile, stat } from "node:fs/promises";
import { parseEnv } from "node:util";
import { Usage } from "./usage.ts";

/** `export` is optional. A value in quotes ends on the same line. */
const ASSIGNMENT = /^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*(?:(["'`]).*\1\s*(?:#.*)?|[^"'`].*)?$/u;
const NOTHING = /^\s*(?:#|$)/u;

/**
 * Reads variables from a file of lines `NAME=VALUE`, with empty lines and comments.
 *
 * @throws Usage if the file cannot be read, other users can change it, or a line is malformed; the
 *   message has the number of the line, not its text
 */
export async function readEnvFile(file: string): Promise<Record<string, string>> {
  const [text, { mode }] = await Promise.all([readFile(file, "utf8"), stat(file)]).catch(
    (cause: NodeJS.ErrnoException) => {
      throw new Usage(`cannot read the variables in ${file}: ${cause.code}`, { cause });
    },
  );
  if (process.platform !== "win32" && (mode & 0o022) !== 0) {
    throw new Usage(
      `${file} is not used, because other users can change it: run chmod go-w ${file}`,
    );
  }
  const lines = text.split(/\r?\n/u);
  const wrong = lines.findIndex((line) => !NOTHING.test(line) && !ASSIGNMENT.test(line));
  if (wrong >= 0) throw new Usage(`line ${wrong + 1} of ${file} is not NAME=VALUE`);
  return parseEnv(lines.join("\n")) as Record<string, string>;
}
