import type { Command as CommanderCommand } from "commander";
import type { Does } from "./program.ts";

/** What is done to a store as a place, whatever it holds. */
export function addStoreCommands(program: CommanderCommand, does: Does): void {
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
    .action(does(async () => (await import("../commands/store-init.ts")).storeInit));

  group
    .command("check")
    .summary("find out what a store can do")
    .description(
      "Write, read, list and remove one small blob, and say what the store can do, and what to " +
        "do about what it cannot.",
    )
    .argument("[url]", "the store (default: IDK_STORE)")
    .action(does(async () => (await import("../commands/store-check.ts")).storeCheck));
}
