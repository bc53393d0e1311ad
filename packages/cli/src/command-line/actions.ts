import type { Command as CommanderCommand } from "commander";
import type { Command } from "../command.ts";
import type { Screen } from "../output/screen.ts";
import type { Session } from "../session.ts";

/** Makes the action of a command, which is loaded when it runs. */
export type ActionOf = (load: () => Promise<Command>) => (this: CommanderCommand) => Promise<void>;

/** The names of some commands, and what adds them to a program. */
export type Group = readonly [
  names: readonly string[],
  add: (program: CommanderCommand, actionOf: ActionOf, start: StartSession) => void,
];

/** A session before the command line is parsed. */
export interface StartSession extends Omit<Session, "progress"> {
  readonly screen: Screen;
}
