import type { Command as CommanderCommand } from "commander";
import type { Does } from "./program.ts";
import { identityOption } from "./options.ts";

/** What makes keys and tells of them. */
export function addKeyCommands(program: CommanderCommand, does: Does): void {
  program
    .command("keygen")
    .summary("make an identity")
    .description(
      "Write a new identity to a file, or to the keychain of this system, and print its recipient.",
    )
    .option("-o, --output <file>", "where to write it; must not exist")
    .option("--keychain <name>", "keep it in the keychain instead: -i keychain:NAME")
    .option("--passphrase", "protect it with a passphrase (IDK_PASSPHRASE, or asked for)")
    .action(does(async () => (await import("../commands/keygen.ts")).keygen));

  program
    .command("recipient")
    .summary("print the recipient of an identity")
    .description("Print the recipient of each identity in the files.")
    .addOption(identityOption())
    .action(does(async () => (await import("../commands/recipient.ts")).recipient));
}
