import type { Command } from "commander";
import type { Environment } from "../session.ts";
import { completionsOf } from "./candidates.ts";
import { loadValues } from "./values.ts";

/** The answer to a shell, as scripts.ts says it is. */
export async function complete(
  program: Command,
  words: readonly string[],
  env: Environment,
): Promise<string> {
  const { candidates, files } = completionsOf(
    program,
    words,
    await loadValues(program, words, env),
  );
  const lines = candidates.map(({ word, meaning }) => `${word}\t${meaning}`);
  if (files) lines.push(":files");
  return lines.map((line) => `${line}\n`).join("");
}
