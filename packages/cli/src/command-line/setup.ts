import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import { identityOption } from "./options.ts";

/** What is done once on a machine, and what shows how it is set up. */
export function addSetupCommands(program: CommanderCommand, actionOf: ActionOf): void {
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
    .action(actionOf(async () => (await import("../commands/init.ts")).init));

  program
    .command("config")
    .summary("show the settings in force and where each is from")
    .description(
      "Show what the flags, the environment and the configuration file come to, and where each " +
        "value is from. With --store for one of the stores in the file. Secrets are not shown.",
    )
    .action(actionOf(async () => (await import("../commands/config.ts")).config));
}

/** What makes keys and tells of them. */
export function addKeyCommands(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("keygen")
    .summary("make an identity")
    .description(
      "Write a new identity to a file, or to the keychain of this system, and print its recipient.",
    )
    .option("-o, --output <file>", "where to write it; must not exist")
    .option("--keychain <name>", "keep it in the keychain instead: -i keychain:NAME")
    .option("--passphrase", "protect it with a passphrase (IDK_PASSPHRASE, or asked for)")
    .action(actionOf(async () => (await import("../commands/keys.ts")).keygen));

  program
    .command("recipient")
    .summary("print the recipient of an identity")
    .description("Print the recipient of each identity in the files.")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/keys.ts")).recipient));
}
