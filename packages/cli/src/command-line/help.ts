import { nearest } from "@idk/storage/url";
import type { Command as CommanderCommand } from "commander";
import { usage } from "../errors/failures.ts";
import { quotedWord } from "../output/secrets.ts";
import { TOPICS } from "./overview.ts";

/** `idk help`, `idk help COMMAND…` and `idk help TOPIC`. Commander's own help has no topics. */
export function addHelpCommand(parent: CommanderCommand): void {
  const inner = parent.parent !== null;
  const topics = inner ? [] : [...Object.keys(TOPICS), "man"];
  parent
    .helpCommand(false)
    .command("help", { hidden: inner })
    .summary("print the help of a command or a topic")
    .description(
      `Print the help of a command or a topic: ${topics.join(", ")}. The topic man is the source of ` +
        "the manual page.",
    )
    .argument("[topic...]", "a command or a topic")
    .action(async (words: readonly string[]) => {
      const [word = ""] = words;
      if (words.length > 1 || !topics.includes(word)) commandOf(words, parent, topics).outputHelp();
      else if (word === "man") await printManual(parent);
      else writeHelp(parent, TOPICS[word] ?? "");
    });
}

async function printManual(program: CommanderCommand): Promise<void> {
  const { manualOf } = await import("../manual/manual.ts");
  writeHelp(program, manualOf(program));
}

function writeHelp(command: CommanderCommand, text: string): void {
  command.configureOutput().writeOut?.(text);
}

/** @throws Failure `usage` if a word is neither a command nor a topic */
function commandOf(
  words: readonly string[],
  parent: CommanderCommand,
  topics: readonly string[],
): CommanderCommand {
  let found = parent;
  for (const word of words) {
    const inner = found.commands.find((command) => command.name() === word);
    if (inner === undefined) {
      const names = found.commands.map((command) => command.name());
      const near = nearest(word, found === parent ? [...names, ...topics] : names);
      const hint = near === undefined ? ": run `idk help` for a list" : ` (did you mean ${near}?)`;
      throw usage(`no help for ${quotedWord(word)}${hint}`);
    }
    found = inner;
  }
  return found;
}
