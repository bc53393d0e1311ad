import type { Command, Option } from "commander";

/** A word that could stand at the cursor. */
export interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

export interface Completions {
  readonly candidates: readonly Candidate[];
  /** Whether a path could stand there as well. */
  readonly files: boolean;
}

/** What an option or operand takes, by the name that commander has for it. */
export type Values = (name: string) => Completions;

/**
 * What could stand as the last of the words.
 *
 * @param words behind the program's name, as they were typed; the last one is being written
 */
export function completionsOf(
  program: Command,
  words: readonly string[],
  values: Values,
): Completions {
  const current = words.at(-1) ?? "";
  const place = placeOf(program, words.slice(0, -1));
  const { candidates, files } = completionsAt(place, current, values);
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), files };
}

/** Where the cursor is. */
interface Place {
  readonly command: Command;
  /** How many operands stand before it. */
  readonly operands: number;
  /** The option whose value it is. */
  readonly option: Option | undefined;
  /** Behind `--`, nothing is an option. */
  readonly literal: boolean;
}

function placeOf(program: Command, before: readonly string[]): Place {
  let command = program;
  let operands = 0;
  let option: Option | undefined;
  let literal = false;
  for (const word of before) {
    if (option !== undefined) option = undefined;
    else if (literal || !word.startsWith("-") || word === "-") {
      const inner = operands === 0 && command.commands.find((each) => each.name() === word);
      if (inner) command = inner;
      else operands += 1;
    } else if (word === "--") literal = true;
    else
      option = optionsOf(command).find(
        (each) => takesValue(each) && (each.short === word || each.long === word),
      );
  }
  return { command, operands, option, literal };
}

function completionsAt(
  { command, operands, option, literal }: Place,
  current: string,
  values: Values,
): Completions {
  if (option !== undefined) return values(option.attributeName());
  const joined = literal ? undefined : joinedValue(command, current);
  if (joined !== undefined) {
    const { candidates, files } = values(joined.attributeName());
    const whole = candidates.map(({ word, meaning }) => ({
      word: `${joined.long}=${word}`,
      meaning,
    }));
    return { candidates: whole, files };
  }
  if (current.startsWith("-") && !literal) {
    const candidates = optionsOf(command).flatMap(({ long, description }) =>
      long ? [{ word: long, meaning: description }] : [],
    );
    return { candidates, files: false };
  }
  const commands = command.createHelp().visibleCommands(command);
  const inner = operands === 0 ? commands.map(describe) : [];
  if (inner.length > 0) return { candidates: inner, files: false };
  const { registeredArguments: all } = command;
  const operand = all[operands] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
  return operand ? values(operand.name()) : { candidates: [], files: false };
}

/** The option in `--store=VALUE`. */
function joinedValue(command: Command, current: string): Option | undefined {
  if (!current.startsWith("--") || !current.includes("=")) return undefined;
  const flag = current.slice(0, current.indexOf("="));
  return optionsOf(command).find((each) => takesValue(each) && each.long === flag);
}

function describe(command: Command): Candidate {
  return { word: command.name(), meaning: command.summary() };
}

/** Its own and those above it, which stand everywhere. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}
