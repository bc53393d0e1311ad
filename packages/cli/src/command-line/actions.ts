import type { Command as CommanderCommand } from "commander";
import type { Command } from "../command.ts";
import type { Screen } from "../output/screen.ts";
import type { Session } from "../session.ts";

/** Makes the action of a command. Commands load when they are run: none pays for what another needs. */
export type ActionOf = (load: () => Promise<Command>) => (this: CommanderCommand) => Promise<void>;

/** A session before it is known what the command line says of it. */
export interface Start extends Omit<Session, "progress"> {
  readonly screen: Screen;
}
