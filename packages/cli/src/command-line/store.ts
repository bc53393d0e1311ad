import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import { identityOption, workersOption } from "./options.ts";

/** What goes by blobs, whatever is in them; keys are for the trees below. */
export function addBlobCommands(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("ls")
    .summary("list the addresses of the store, or names and sizes")
    .description(
      "Print the address of every blob: roots, which `idk put` printed, and chunks. With --long a " +
        "line for each content that the identities open: address, size, date, type and name. " +
        "Names are sealed together with content, so that every root has to be fetched for it, with " +
        "what it holds: up to 1 MiB each. Chunks are not: of those that could be roots by their " +
        "length, 4 KiB are.",
    )
    .option("-l, --long", "sizes, dates, types and names, which takes an identity")
    .option("--all", "with --long: also what is for others, and chunks")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/show.ts")).ls));

  program
    .command("inspect")
    .summary("say what the store can see of a blob")
    .description(
      "Fetch a root or chunk, check it against its address, and explain all that shows without a " +
        "key: what the store, and whoever copies it, can see.",
    )
    .argument("<address>", "of a root or a chunk, or its first 8 digits")
    .action(actionOf(async () => (await import("../commands/show.ts")).inspect));

  program
    .command("verify")
    .summary("check blobs, or the whole store")
    .description(
      "Check that blobs match their addresses, which takes no key; by default all of the store. " +
        "With --deep also decrypt and check all content that the identities open.",
    )
    .argument("[address...]", "what to check; the first 8 digits will do")
    .option("--deep", "check the content below each address as well")
    .option(
      "--attested",
      "download nothing where the store kept a SHA-256 at upload: finds no bit rot",
    )
    .addOption(identityOption())
    .addOption(workersOption())
    .action(actionOf(async () => (await import("../commands/verify.ts")).verify));

  program
    .command("copy")
    .summary("copy blobs from one store to another")
    .description(
      "Copy blobs as they are, which takes no key, and check each on its way. What the other " +
        "store has already is left out, so that a copy can be broken off and begun again. By " +
        "default all blobs; with --tree the given addresses and all content below them.",
    )
    .argument("[address...]", "what to copy; the first 8 digits will do")
    .requiredOption("--from <url>", "the store to read")
    .requiredOption("--to <url>", "the store to write")
    .option("--tree", "with each address also the chunks below it, which takes an identity")
    .option("--trust-size", "take a blob of the right size at the target for copied, unread")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/copy.ts")).copy));

  program
    .command("rm")
    .summary("remove a blob, or all of a tree")
    .description(
      "Remove one blob. With --tree also remove the chunks below it: unsafe where they are " +
        "shared, by `idk rewrap` or a dedup secret.",
    )
    .argument("<address>", "what to remove; the first 8 digits will do")
    .option("--tree", "remove the chunks below it as well")
    .option("--force", "with --tree: even though a dedup secret is set")
    .option("--dedup-secret <file>", "the secret the content was stored with")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/rm.ts")).rm));
}

/** What is done to a store as a place, whatever it holds. */
export function addStoreCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("store")
    .summary("make a store, or find out what it can do")
    .description("Make the place where a store will be, or find out what it can do.");

  group
    .command("init")
    .summary("make the bucket or folder of a store")
    .description("Make the bucket, or the folder, unless it is there, and set what is asked for.")
    .argument("[url]", "the store (default: IDK_STORE)")
    .option("--versioning", "keep what is overwritten or deleted as old versions")
    .option("--object-lock", "let versions be locked against deletion; for new buckets only")
    .option("--lifecycle-days <days>", "remove old versions after so many days")
    .option("--default-sse <type>", "how the bucket encrypts new blobs at rest: AES256 or aws:kms")
    .option("--kms-key <id>", "the key for --default-sse aws:kms (default: the provider's)")
    .action(actionOf(async () => (await import("../commands/store.ts")).storeInit));

  group
    .command("check")
    .summary("find out what a store can do")
    .description(
      "Write, read, list and remove one small blob, and say what the store can do, and what to " +
        "do about what it cannot.",
    )
    .argument("[url]", "the store (default: IDK_STORE)")
    .action(actionOf(async () => (await import("../commands/store.ts")).storeCheck));
}
