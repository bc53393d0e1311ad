import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import {
  identityOption,
  recipientOption,
  recipientsFileOption,
  shareRecipientOption,
  workersOption,
} from "./options.ts";

/** When an interrupted command is continued by itself; see resume.ts. */
const OVER = "over 64 MiB";

/** What goes by the content of addresses, and so takes keys. */
export function addContentCommands(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("put")
    .summary("store files and print their addresses")
    .description(
      "Encrypt a file or standard input, store it, and print its address. Of several files, each " +
        "gets a line with its address and its path, and one that fails does not stop the others. " +
        "Of a folder, all files in it and below: no symbolic links, modes or empty folders.",
    )
    .argument("[file...]", "the file, a folder, or - for standard input")
    .option("--from-file <list>", "also the files of this list, one a line; - for standard input")
    .option("-0, --null", "what ends a path in the list is a zero byte, as from find -print0")
    .option("--done <list>", "leave out the files of this list, the output of an earlier put")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .option("--name <name>", "a name to keep, encrypted (default: the file's own, and its date)")
    .option("--no-name", "keep neither the name nor the date of the file")
    .option("--type <type>", "a media type to keep, encrypted, with the content")
    .option("--chunk-size <size>", "a power of two from 256K to 16M (default: 4M)")
    .option("--padding", "hide the exact length from the store (the default)")
    .option("--no-padding", "let the store see the exact length")
    .option(
      "--compress <how>",
      "zstd, lz4, auto (where it pays) or none (IDK_COMPRESS; default: none)",
    )
    .option("--dedup-secret <file>", "32 bytes, or 64 hexadecimal digits, shared to deduplicate")
    .addOption(workersOption())
    .option("--resume", `continue an interrupted put of this file (default: ${OVER})`)
    .option("--no-resume", "start at the beginning, and keep no journal")
    .action(actionOf(async () => (await import("../commands/put.ts")).put));

  program
    .command("get")
    .summary("fetch, verify and decrypt content")
    .description(
      "Fetch content, verify it, and write it to a file or to standard output; or several, each " +
        "to a file of a folder, under the name that it has inside, or else its address.",
    )
    .argument("[address...]", "what `idk put` printed, or its first 8 digits")
    .option("-o, --output <file>", "write to this file, or - for standard output (default: -)")
    .option("--output-dir <dir>", "write each address to a file in this folder, never outside")
    .option("--no-names", "name the files by their addresses, whatever names they have inside")
    .option("--from-file <list>", "also the addresses of this list, such as the output of idk put")
    .addOption(identityOption())
    .option("--range <start-end>", "these bytes alone; END is not included, either may be empty")
    .option("--force", "replace an existing file")
    .addOption(workersOption())
    .option("--resume", `with -o: continue an interrupted get (default: ${OVER})`)
    .option("--no-resume", "start at the beginning, and keep nothing if interrupted")
    .action(actionOf(async () => (await import("../commands/get.ts")).get));

  program
    .command("stat")
    .summary("say what an address holds")
    .description("Open an address and print its size, metadata and layout.")
    .argument("<address>", "what `idk put` printed, or its first 8 digits")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/show.ts")).stat));

  program
    .command("share")
    .summary("let one more read an address")
    .description(
      "Write a new root over the same content for the recipients named here and for your own " +
        "identities, and print its address. Nothing is uploaded again. Who else could read the old " +
        "root has to be named again: a root does not say who its recipients are. The old root stays " +
        "until it is removed. To say exactly who reads it, without yourself, use `idk rewrap`.",
    )
    .argument("<address>", "what `idk put` printed, or its first 8 digits")
    .addOption(shareRecipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/share.ts")).share));

  program
    .command("rewrap")
    .summary("change who can read an address")
    .description(
      "Write a new root for exactly these recipients over the same content, and print its " +
        "address. The old root stays until it is removed.",
    )
    .argument("<address>", "what `idk put` printed, or its first 8 digits")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/share.ts")).rewrap));
}
