import type { Command, Option } from "commander";
import { EXAMPLES } from "../command-line/examples.ts";
import { ENVIRONMENT, EXIT_CODES, STORES } from "../command-line/overview.ts";
import { RELEASED, VERSION } from "../version.ts";
import { escaped, filled, type Item, list } from "./roff.ts";

/** The manual page idk(1), generated from the commands and the help topics. */
export function manualOf(program: Command): string {
  const lines = [
    `.Dd ${RELEASED}`,
    ".Dt IDK 1",
    `.Os "idk ${VERSION}"`,
    ".Sh NAME",
    ".Nm idk",
    ".Nd encrypted, content\\-addressed storage",
    ".Sh SYNOPSIS",
    ".Nm",
    ".Ar command",
    ".Op Ar options",
    ".Op Ar arguments",
    ".Sh DESCRIPTION",
    ...filled(DESCRIPTION),
    ".Sh OPTIONS",
    "These apply to every command.",
    ...list(program.createHelp().visibleOptions(program).map(optionItem)),
    ".Sh COMMANDS",
    ...commandsBelow(program, ""),
    ".Sh STORES",
    ...filled("The values of `--store`, `IDK_STORE` and `url` in the configuration:"),
    ...list(itemsOf(STORES)),
    ".Sh ENVIRONMENT",
    ...list(itemsOf(ENVIRONMENT)),
    ".Sh FILES",
    ...list(FILES),
    ".Sh EXIT STATUS",
    ...list(itemsOf(EXIT_CODES)),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const DESCRIPTION =
  "`put` encrypts content for one or more recipients and prints its address, a SHA-256. `get` " +
  "verifies and decrypts the content of an address, and returns nothing if that fails. The store " +
  "cannot read what it stores. `idk init` sets up an identity, a store and the configuration. " +
  "Results go to standard output, everything else to standard error.";

const FILES: readonly Item[] = [
  {
    tag: "Pa \\(ti/.config/idk/config.toml",
    text: "the configuration: named stores, identities and defaults; printed by `idk config`",
  },
  {
    tag: "Pa \\(ti/.local/share/idk",
    text: "the default location of the identity and the store created by `idk init`",
  },
];

function commandsBelow(parent: Command, path: string): string[] {
  const commands = parent.createHelp().visibleCommands(parent);
  return commands.flatMap((command) => commandLines(command, path));
}

function commandLines(command: Command, path: string): string[] {
  const name = `${path}${command.name()}`;
  const help = command.createHelp();
  const operands = help
    .visibleArguments(command)
    .map((each): Item => ({ tag: `Ar ${escaped(each.name())}`, text: each.description }));
  const options = help
    .visibleOptions(command)
    .filter(({ long }) => long !== "--help")
    .map(optionItem);
  const examples = EXAMPLES[name] ?? [];
  return [
    `.Ss ${escaped(help.commandUsage(command).replace(" [options]", ""))}`,
    ...filled(help.commandDescription(command)),
    ...(operands.length + options.length > 0 ? list([...operands, ...options]) : []),
    ...(examples.length > 0 ? [".Pp", "Examples:", ...list(examples.map(exampleItem))] : []),
    ...commandsBelow(command, `${name} `),
  ];
}

/** Parses flags such as `-o, --output <file>`. */
function optionItem({ short, long, flags, description }: Option): Item {
  const names = [short, long].flatMap((flag) => (flag ? [`Fl ${escaped(flag.slice(1))}`] : []));
  const value = /[<[](?<name>.+)[\]>]/u.exec(flags)?.groups?.["name"];
  return {
    tag: `${names.join(" , ")}${value === undefined ? "" : ` Ar ${escaped(value)}`}`,
    text: description,
  };
}

/** A command line and, after three or more spaces, its explanation. */
function exampleItem(example: string): Item {
  const [commandLine = "", ...explanation] = example.split(/ {3,}/u);
  return { tag: `Li ${escaped(commandLine)}`, text: explanation.join(" ") };
}

/** The entries of a topic: lines of two columns, with continuation lines in the second. */
function itemsOf(topic: string): Item[] {
  const rows: { tag: string; text: string }[] = [];
  for (const line of topic.trimEnd().split("\n").slice(1)) {
    const { tag, text } = /^ {2}(?<tag>\S+(?: \S+)*)?\s*(?<text>.*)$/u.exec(line)?.groups ?? {};
    const row = rows.at(-1);
    if (tag !== undefined) rows.push({ tag, text: text ?? "" });
    else if (row !== undefined) row.text = `${row.text} ${text}`.trim();
  }
  return rows.map(({ tag, text }) => ({ tag: `Li ${escaped(tag)}`, text }));
}
