import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import {
  fromFileOption,
  identityOption,
  memoryOption,
  reportOption,
  shardOption,
  workersOption,
} from "./options.ts";

/** The commands that work on blobs, whatever they contain; only their options for trees need keys. */
export function addBlobCommands(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("ls")
    .summary("list a snapshot, or the addresses in the store")
    .description(
      "Print the address of every blob: the roots that `idk put` printed, and chunks. With --long, " +
        "print the address, size, date, type and path of each content that your identities open, in " +
        "the order of paths, and their total. Chunks are hidden. " +
        "Names are encrypted with the content, so this fetches each root, up to 1 MiB, and the " +
        "first 4 KiB of each chunk whose length could be a root's. With SNAPSHOT, print the paths in " +
        "it instead: all, or those in the folder PATH; with --long, also modes, owners, sizes and times.",
    )
    .argument(
      "[snapshot]",
      "list this snapshot: NAME, NAME~2, NAME@2026-11-20, an address, or latest",
    )
    .argument("[path]", "list this folder of the snapshot")
    .option("-l, --long", "print sizes, dates, types and names; needs an identity")
    .option("--all", "with --long: also list other recipients' roots, and chunks")
    .option("--name <glob>", "with --long: only these paths: report.pdf, '*.pdf', 'photos/**'")
    .option("--type <type>", "with --long: only this media type: image/png, 'image/*', or image")
    .option("--since <time>", "with --long: only from this date on, in UTC: 2026-11-20, 2h, 7d")
    .option("--larger <size>", "with --long: only content larger than SIZE: 500K, 100M, 2G")
    .option("--recursive", "with PATH: also list what is in the folders below it")
    .option("--accept-rollback", "with SNAPSHOT: continue even if the store lacks newer snapshots")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/show.ts")).ls));

  program
    .command("inspect")
    .summary("show what the store can see of a blob")
    .description(
      "Fetch a root or chunk, check it against its address, and explain everything that is visible " +
        "without a key: what the store, and anyone who copies it, can see.",
    )
    .argument("<address>", "the address of a root or chunk, or its first 8 digits")
    .action(actionOf(async () => (await import("../commands/show.ts")).inspect));

  program
    .command("verify")
    .summary("check blobs, or the whole store")
    .description(
      "Check that blobs match their addresses, by default all blobs of the store, those of snapshots " +
        "too, but not those of a gateway, which are in URL/s3. This needs no key. With --deep, also " +
        "decrypt and check all content that your identities open. With --complete, check instead " +
        "that no chunk is missing below the roots that your identities open. To check that snapshots are whole, use `idk check`.",
    )
    .argument("[address...]", "the addresses to check, or at least their first 20 digits")
    .addOption(fromFileOption("check"))
    .option("--deep", "also check the content below each address")
    .option(
      "--complete",
      "check that no chunk is missing, by server checksum or size; downloads no chunks",
    )
    .option(
      "--server-checksums",
      "compare SHA-256 checksums kept by the server instead of downloading; does not detect bit rot",
    )
    .option("--attested", "an alias of --server-checksums")
    .addOption(identityOption())
    .addOption(workersOption())
    .addOption(memoryOption())
    .addOption(shardOption("check"))
    .addOption(reportOption())
    .action(actionOf(async () => (await import("../commands/verify.ts")).verify));

  program
    .command("copy")
    .summary("copy blobs from one store to another")
    .description(
      "Copy blobs as they are and check each on the way. This needs no key. Blobs that the target " +
        "already has are skipped, so an interrupted copy can be run again. By default, copy all " +
        "blobs, and the repository of snapshots; with --tree, copy the given addresses and all " +
        "content below them.",
    )
    .argument("[address...]", "the addresses to copy, or at least their first 20 digits")
    .addOption(fromFileOption("copy"))
    .requiredOption("--from <url>", "the store to read from")
    .requiredOption("--to <url>", "the store to write to")
    .option("--tree", "also copy the chunks below each address; needs an identity")
    .option(
      "--trust-size",
      "skip blobs that have the right size at the target, after reading 64 bytes of each",
    )
    .addOption(identityOption())
    .addOption(memoryOption())
    .addOption(shardOption("copy"))
    .addOption(reportOption())
    .action(actionOf(async () => (await import("../commands/copy.ts")).copy));

  program
    .command("merge-reports")
    .summary("add up the reports of all shards")
    .description(
      "Add up the reports of a command that ran with --shard, one of each shard, and exit as the command " +
        "on the whole store would. It is an error if a shard is missing, incomplete or there twice, or if " +
        "the reports are of different stores, commands or numbers of shards.",
    )
    .argument("<report...>", "the files that --report named")
    .action(
      actionOf(async () => (await import("../commands/merge-reports.ts")).mergeReportsCommand),
    );

  program
    .command("rm")
    .summary("remove a blob, or a whole tree")
    .description(
      "Remove blobs. The chunks below a root stay, because other roots may share them; if an identity " +
        "opens the root, rm prints how many. With --tree, also remove them. That is unsafe if other roots " +
        "share them, through `idk share`, `idk rewrap` or a dedup secret. Blobs that a root refers " +
        "to without having their key belong to something else: they are listed, and not removed.",
    )
    .argument("[address...]", "the address to remove, or at least its first 20 digits")
    .addOption(fromFileOption("remove"))
    .option("--tree", "also remove the chunks below it")
    .option("--force", "with --tree: remove shared chunks despite a dedup secret")
    .option("--yes", "with --tree: remove more than 10,000 blobs without asking")
    .option("--dedup-secret <file>", "the secret the content was stored with")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/rm.ts")).rm));
}

/** The commands that work on the bucket or folder of a store. */
export function addStoreCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("store")
    .summary("create a store, or check what it supports")
    .description("Create the bucket or folder of a store, or check what it supports.");

  group
    .command("init")
    .summary("create the bucket or folder of a store")
    .description("Create the bucket or folder if it does not exist, and apply the given settings.")
    .argument("[url]", "the store (default: IDK_STORE)")
    .option("--versioning", "keep overwritten and deleted objects as old versions")
    .option("--object-lock", "allow versions to be locked against deletion; new buckets only")
    .option("--lifecycle-days <days>", "remove old versions after this many days")
    .option("--default-sse <type>", "encrypt new blobs at rest by default: AES256 or aws:kms")
    .option("--cors <origin>", "let pages of this origin open links: https://HOST[:PORT]")
    .option("--kms-key <id>", "the key for --default-sse aws:kms (default: the provider's)")
    .action(actionOf(async () => (await import("../commands/store.ts")).storeInit));

  group
    .command("check")
    .summary("check what a store supports")
    .description(
      "Write, read, list and remove one small blob. Print what the store supports, and how to fix " +
        "what fails.",
    )
    .argument("[url]", "the store (default: IDK_STORE)")
    .action(actionOf(async () => (await import("../commands/store.ts")).storeCheck));
}
