import type { Command, Option } from "commander";

/** A possible word at the cursor. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

export interface Completions {
  readonly candidates: readonly Candidate[];
  /** Whether a path is possible, too. */
  readonly files: boolean;
}

/** The values of an option or operand, by its name in commander. */
export type Values = (name: string) => Completions;

/**
 * Completes the last word.
 *
 * @param words the words typed after the program's name; the last one is incomplete
 */
export function completionsOf(
  program: Command,
  words: readonly string[],
  values: Values,
): Completions {
  const current = words.at(-1) ?? "";
  const cursor = cursorOf(program, words.slice(0, -1));
  const { candidates, files } = completionsAt(cursor, current, values);
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), files };
}

/** The position of the cursor. */
interface Cursor {
  readonly command: Command;
  /** The number of operands before it. */
  readonly operands: number;
  /** The option whose value is being typed. */
  readonly option: Option | undefined;
  /** After `--`, where nothing is an option. */
  readonly literal: boolean;
}

function cursorOf(program: Command, before: readonly string[]): Cursor {
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
  { command, operands, option, literal }: Cursor,
  current: string,
  values: Values,
): Completions {
  if (option !== undefined) return values(option.attributeName());
  const joined = literal ? undefined : joinedValue(command, current);
  if (joined !== undefined) {
    const { candidates, files } = values(joined.attributeName());
    const whole = candidates.map(({ word, description }) => ({
      word: `${joined.long}=${word}`,
      description,
    }));
    return { candidates: whole, files };
  }
  if (current.startsWith("-") && !literal) {
    const candidates = optionsOf(command).flatMap(({ long, description }) =>
      long ? [{ word: long, description }] : [],
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
  return { word: command.name(), description: command.summary() };
}

/** The command's own options and the global ones. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}
