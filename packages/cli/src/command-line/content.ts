import type { Command as CommanderCommand } from "commander";
import type { ActionOf, Group } from "./actions.ts";
import {
  fromFileOption,
  identityOption,
  recipientOption,
  recipientsFileOption,
  shareRecipientOption,
  memoryOption,
  workersOption,
} from "./options.ts";

/** The default of `isResumed` in settings.ts. */
const OVER = "over 64 MiB";

function addPutCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("put")
    .summary("store files and print their addresses")
    .description(
      "Encrypt a file or standard input, store it, and print its address. For several files, print " +
        "a line with the address and path of each, on a terminal only if they are few; a file that " +
        "fails does not stop the others. For a folder, store all files in it and below it, but no symbolic links, modes or empty folders. " +
        "The paths stored are those below the folder; if other files or folders are named, too, they " +
        "begin with its name.",
    )
    .argument("[file...]", "a file, a folder, or - for standard input")
    .option(
      "--from-file <list>",
      "also store the files in LIST: one per line, or JSON; - for standard input",
    )
    .option("-0, --null", "paths in LIST are NUL-terminated, as find -print0 writes them")
    .option(
      "--done <list>",
      "skip the files in LIST, the output of an earlier put; warn of those changed since",
    )
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .option("--name <name>", "store this name, encrypted (default: the file's name, and its date)")
    .option("--no-name", "store neither the name nor the date of the file")
    .option("--type <type>", "store a media type, encrypted, with the content")
    .option("--chunk-size <size>", "a power of two from 256K to 16M (default: 4M)")
    .option("--padding", "hide the exact length from the store (the default)")
    .option("--no-padding", "let the store see the exact length")
    .option(
      "--compress <how>",
      "zstd, lz4, auto (if it saves space) or none (IDK_COMPRESS; default: none)",
    )
    .option("--dedup-secret <file>", "deduplicate by a shared secret: 32 bytes or 64 hex digits")
    .addOption(workersOption())
    .addOption(memoryOption())
    .option("--resume", `continue an interrupted put of this file (default: ${OVER})`)
    .option("--no-resume", "start from the beginning and keep no journal")
    .option("-v, --verbose", "print every address on a terminal, too, however many files there are")
    .action(actionOf(async () => (await import("../commands/put.ts")).put));
}

function addGetCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("get")
    .summary("fetch, verify and decrypt content")
    .description(
      "Fetch content, verify it, and write it to a file or to standard output. Write several " +
        "contents to files in a folder, named by the names stored with them or else by address. With " +
        "--output-dir, ADDRESS may be a path that `idk ls --long` prints, or a pattern such as " +
        "'photos/**': get then fetches all content of these paths, after it has read every root.",
    )
    .argument(
      "[address...]",
      "an address that `idk put` printed, or at least its first 20 digits; or a stored path",
    )
    .option("-o, --output <file>", "write to this file, or - for standard output (default: -)")
    .option("--output-dir <dir>", "write each content to a file in this folder, never outside it")
    .option("--no-names", "name the files by address and ignore the stored names")
    .option("--keep-hidden", "write hidden names also into a folder that has other files")
    .addOption(fromFileOption("fetch"))
    .addOption(identityOption())
    .option("--range <start-end>", "fetch only these bytes; END is excluded, either may be omitted")
    .option("--max-size <size>", "refuse content that is longer than this, decompressed: 100M, 2G")
    .option("--force", "replace an existing file")
    .addOption(workersOption(", or one for many small ones"))
    .addOption(memoryOption())
    .option("--resume", `with -o: continue an interrupted get (default: ${OVER})`)
    .option("--no-resume", "start from the beginning, and keep nothing if interrupted")
    .option("--no-sync", "do not wait for the disk: a power cut can then damage fetched files")
    .action(actionOf(async () => (await import("../commands/get.ts")).get));
}

function addStatCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("stat")
    .summary("show the size, metadata and layout of content")
    .description("Open addresses and print their size, metadata and layout.")
    .argument("[address...]", "an address that `idk put` printed, or its first 8 digits")
    .addOption(fromFileOption("open"))
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/show.ts")).stat));
}

function addShareCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("share")
    .summary("grant another recipient access")
    .description(
      "Write a new root over the same content for the given recipients and your own identities, and " +
        "print its address. No content is uploaded. Name the other recipients of the old root again, " +
        "because a root does not list them. The old root stays until you remove it, which takes " +
        "nothing from those who kept a copy. To choose the recipients exactly, use `idk rewrap`. For " +
        "several addresses, print a line with the new and the old address of each.",
    )
    .argument("[address...]", "an address that `idk put` printed, or at least its first 20 digits")
    .addOption(fromFileOption("share"))
    .addOption(shareRecipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/sharing/share.ts")).share));
}

function addRewrapCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("rewrap")
    .summary("write a root for other recipients")
    .description(
      "Write a new root for exactly these recipients over the same content, and print its " +
        "address. The recipients of the old root can keep reading what they could read: they may " +
        "have kept it, with the keys of all chunks. New content is closed to them. With --reseal, " +
        "store the content again under new keys; the old root and its chunks stay, because other " +
        "roots may share the chunks, unless you add --delete-old. For several addresses, print a line " +
        "with the new and the old address of each.",
    )
    .argument("[address...]", "an address that `idk put` printed, or at least its first 20 digits")
    .addOption(fromFileOption("rewrap"))
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .option("--reseal", "store all content again, under new keys")
    .option("--max-size <size>", "with --reseal: refuse to store more than this again: 100M, 2G")
    .option("--delete-old", "with --reseal: then delete the old root and its chunks, after asking")
    .option("--yes", "with --delete-old: do not ask")
    .addOption(workersOption())
    .option("--resume", `with --reseal: continue an interrupted run (default: ${OVER})`)
    .option("--no-resume", "start from the beginning and keep no journal")
    .action(actionOf(async () => (await import("../commands/sharing/rewrap.ts")).rewrap));
}

/** The commands that work on content, and so need keys. */
export const CONTENT_COMMANDS: readonly Group[] = [
  [["put"], addPutCommand],
  [["get"], addGetCommand],
  [["stat"], addStatCommand],
  [["share"], addShareCommand],
  [["rewrap"], addRewrapCommand],
];
