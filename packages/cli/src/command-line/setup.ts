import type { Command as CommanderCommand } from "commander";
import type { Does } from "./program.ts";

/** What is done once on a machine, and what shows how it is set up. */
export function addSetupCommands(program: CommanderCommand, does: Does): void {
  program
    .command("init")
    .summary("set up an identity, a store and the configuration")
    .description(
      "Make an identity, the folder or bucket of a store, and a configuration that names them, so " +
        "that `idk put FILE` is all it takes from then on. Asks where the store is to be, and for a " +
        "passphrase. What is there already stays as it is; --store with a new --name adds a store.",
    )
    .option("-o, --output <file>", "the identity's file (default: ~/.local/share/idk/identity.key)")
    .option("--keychain <name>", "keep the identity in the keychain of this system instead")
    .option("--name <name>", "what to call the store (default: main)")
    .option("--no-passphrase", "leave the identity's file unprotected")
    .action(does(async () => (await import("../commands/init.ts")).init));

  program
    .command("config")
    .summary("show the settings in force and where each is from")
    .description(
      "Show what the flags, the environment and the configuration file come to, and where each " +
        "value is from. With --store for one of the stores in the file. Secrets are not shown.",
    )
    .action(does(async () => (await import("../commands/config.ts")).config));
}
