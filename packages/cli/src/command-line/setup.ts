import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import { identityOption, repeatable } from "./options.ts";

export function addSetupCommands(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("init")
    .summary("set up an identity, a store and the configuration")
    .description(
      "Create an identity, the folder or bucket of a store, and a configuration that names them, so " +
        "that `idk backup FOLDER` and `idk put FILE` work without flags. Asks for the location of the store and for a " +
        "passphrase. Keeps what already exists; --store with a new --name adds a store. On a second " +
        "machine, pass a copy of your identity with -i, so that both can read the same content.",
    )
    .option(
      "-i, --identity <file>",
      "copy the identity from a file, or from standard input (-), instead of creating one; keychain:NAME uses one from the system's keychain",
    )
    .option(
      "-o, --output <file>",
      "the identity file, created or copied if there is none (default: ~/.local/share/idk/identity.key)",
    )
    .option("--keychain <name>", "keep the identity in the system's keychain instead")
    .option("--name <name>", "the name of the store (default: main)")
    .option("--no-passphrase", "leave the identity file unprotected")
    .action(actionOf(async () => (await import("../commands/init.ts")).init));

  program
    .command("config")
    .summary("show the effective settings and their sources")
    .description(
      "Show the effective settings and whether each comes from a flag, the environment or the " +
        "configuration file. Use --store to select a store from the file. Secrets are not shown.",
    )
    .action(actionOf(async () => (await import("../commands/config.ts")).config));
}

export function addKeyCommands(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("keygen")
    .summary("create an identity or a writer key, or change a passphrase")
    .description(
      "Write a new identity to a file or to the system's keychain, and print its recipient. With " +
        "--writer, write a writer key, with which a host signs its snapshots but cannot read any, " +
        "and print its public key for `idk repo allow`. With --change, set, change or remove the " +
        "passphrase of an existing file of either kind; the key in it stays the same. Prompts for " +
        "the old passphrase (IDK_PASSPHRASE) and the new one (IDK_NEW_PASSPHRASE).",
    )
    .option("-o, --output <file>", "write the identity to this file, which must not exist")
    .option("--keychain <name>", "keep it in the keychain instead; use it as -i keychain:NAME")
    .option("--writer", "create a writer key, for a host that makes backups")
    .option("--passphrase", "protect it with a passphrase (IDK_PASSPHRASE, or prompt for one)")
    .option("--armor", "write the protected file as text, to print or to paste")
    .option("--change", "change the passphrase of the file that -i names, in place")
    .addOption(
      repeatable(
        "-i, --identity <file>",
        "the file to change (IDK_IDENTITY; default: your identity)",
      ),
    )
    .option("--no-passphrase", "with --change: remove the passphrase")
    .action(actionOf(async () => (await import("../commands/keys/keygen.ts")).keygen));

  program
    .command("recipient")
    .summary("print the recipient of an identity")
    .description("Print the recipient, the public key, of each identity.")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/keys/keygen.ts")).recipient));
}
