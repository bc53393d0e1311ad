import { type Command as CommanderCommand, Option } from "commander";
import type { ActionOf, Group } from "./actions.ts";
import {
  identityOption,
  recipientOption,
  recipientsFileOption,
  repeatable,
  reportOption,
  shardOption,
} from "./options.ts";

const SNAPSHOT =
  "NAME, NAME~2, NAME@2026-11-20, the first 8 digits of its address, or latest (of all names)";

function rollbackOption(): Option {
  return new Option(
    "--accept-rollback",
    "continue even if the store lacks newer snapshots that this machine has seen",
  );
}

function ownerKeyOption(): Option {
  return new Option(
    "--owner-key <file>",
    "the file of the owner's key (default: the key derived from the first identity)",
  );
}

function threadsOption(): Option {
  return new Option(
    "--workers <n>",
    "use N threads; 0 for none (IDK_WORKERS; default: one per core, up to 8)",
  );
}

function dryRunOption(what: string): Option {
  return new Option("-n, --dry-run", what);
}

/** What `idk backup` and `idk status` have in common: what is stored, and under which name. */
function addWhat(command: CommanderCommand): CommanderCommand {
  return command
    .argument("[path...]", "a folder or a file")
    .option("--name <name>", "the name of the snapshots (default: the host's name and the paths)")
    .addOption(
      repeatable(
        "-e, --exclude <glob>",
        "leave out paths that match GLOB, with restic's syntax; repeatable",
      ),
    )
    .addOption(
      repeatable(
        "--exclude-file <file>",
        "leave out paths that match a pattern in FILE, one per line; repeatable",
      ),
    )
    .addOption(repeatable("--iexclude <glob>", "the same as --exclude, ignoring case; repeatable"))
    .addOption(
      repeatable(
        "--exclude-if-present <name>",
        "leave out the contents of folders that have a file NAME, except this file; repeatable",
      ),
    )
    .option("--exclude-larger-than <size>", "leave out files larger than SIZE: 500K, 100M, 2G")
    .option(
      "--exclude-caches",
      "leave out the contents of folders that have a CACHEDIR.TAG, except the tag",
    )
    .option("-x, --one-file-system", "do not enter other file systems")
    .option(
      "--files-from <list>",
      "also store the paths in LIST, one per line; - for standard input",
    )
    .option("-0, --null", "paths in LIST are NUL-terminated, as find -print0 writes them")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(rollbackOption());
}

function addBackupCommand(program: CommanderCommand, actionOf: ActionOf): void {
  addWhat(
    program
      .command("backup")
      .summary("back up folders")
      .description(
        "Store folders as a snapshot: names, contents, links, modes, owners and times. Only new and " +
          "changed files are read and sent. The first backup to a store makes its repository, and a writer key " +
          "for this host; later ones need no identity. If some files cannot be read, make the " +
          "snapshot without them, list them, and exit with 7.",
      ),
  )
    .option("-m, --message <text>", "store a message with the snapshot")
    .addOption(
      repeatable("--tag <tags>", "store a tag, or several as A,B, with the snapshot; repeatable"),
    )
    .option("--compress <how>", "zstd, lz4 or none (IDK_COMPRESS; default: zstd)")
    .addOption(dryRunOption("store nothing; print what would be stored"))
    .option("--repair", "store again what the repository has lost")
    .option("--verify", "decrypt each pack before it is sent, to find memory errors (the default)")
    .option("--no-verify", "send packs without decrypting them first")
    .addOption(threadsOption())
    .action(actionOf(async () => (await import("../commands/snapshots/backup.ts")).backup));
}

function addRestoreCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("restore")
    .summary("restore a snapshot")
    .description(
      "Write a snapshot, or one path of it, into a folder, and verify all of it. Nothing is written " +
        "outside that folder, whatever the snapshot contains. Set-id bits, owners and devices are restored " +
        "only if you ask for them. If a file cannot be restored, list it and continue.",
    )
    .argument("<snapshot>", `SNAPSHOT or SNAPSHOT:PATH; SNAPSHOT is ${SNAPSHOT}`)
    .option("-t, --target <dir>", "the folder to restore into, created if it does not exist")
    .addOption(repeatable("--include <glob>", "restore only paths that match GLOB; repeatable"))
    .addOption(repeatable("-e, --exclude <glob>", "leave out paths that match GLOB; repeatable"))
    .option("--overwrite <when>", "existing files: always, if-changed or never (default: always)")
    .option(
      "--delete",
      "delete from restored folders what the snapshot does not have, also files that its backup could not read, but nothing outside the paths that it was made of; stay on one file system",
    )
    .option(
      "--verify",
      "read back and compare every file that is written or that if-changed leaves",
    )
    .addOption(dryRunOption("write nothing; print what would be done"))
    .option("--owner", "restore owners and groups, by name where this system has the name")
    .option("--numeric-owner", "restore owners and groups by number")
    .option("--set-id", "restore set-user-id and set-group-id bits")
    .option("--devices", "restore devices")
    .addOption(threadsOption())
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/restore.ts")).restore));
}

function addSnapshotsCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("snapshots")
    .summary("list snapshots")
    .description(
      "List the snapshots, the oldest first. With --long, also print sizes, host and paths, which " +
        "fetches one more blob for each.",
    )
    .option("-l, --long", "print files, sizes, host and paths, too")
    .option("--name <pattern>", "list only names that match PATTERN; * matches any text")
    .addOption(
      repeatable(
        "--tag <tags>",
        "list only snapshots with this tag, or with all of A,B; repeatable",
      ),
    )
    .option("--latest <n>", "list only the newest N of each name")
    .option("--all", "list forgotten ones, too")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/snapshots.ts")).snapshots));
}

function addStatusCommand(program: CommanderCommand, actionOf: ActionOf): void {
  addWhat(
    program
      .command("status")
      .summary("show what a backup would store")
      .description(
        "Print what a backup of these paths would store now, when the last one was, and what an " +
          "interrupted one has stored. Store nothing.",
      ),
  ).action(actionOf(async () => (await import("../commands/snapshots/status.ts")).status));
}

function addCatCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("cat")
    .summary("print a file of a snapshot")
    .description("Write the content of one file of a snapshot to standard output.")
    .argument("<snapshot>", `SNAPSHOT:PATH; SNAPSHOT is ${SNAPSHOT}`)
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/cat.ts")).cat));
}

function addDiffCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("diff")
    .summary("compare two snapshots")
    .description(
      "Print what differs between two snapshots: + added, - removed, M content changed, T type changed, " +
        "U only attributes changed. Unchanged folders are not read.",
    )
    .argument("<before>", SNAPSHOT)
    .argument("<after>", "the snapshot to compare it with, in the same form")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/diff.ts")).diff));
}

function addFindCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("find")
    .summary("find files in snapshots")
    .description(
      "Print the files whose name matches PATTERN, in the newest snapshot of each name. If PATTERN has " +
        "a slash, it is compared with whole paths.",
    )
    .argument(
      "<pattern>",
      "* matches any text but /, ** any folders, ? one character, [a-z] a range",
    )
    .addOption(repeatable("-s, --snapshot <snapshot>", "search this snapshot instead; repeatable"))
    .option("--all", "search all snapshots")
    .option("-l, --long", "print modes, owners, sizes and times, too")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/find.ts")).find));
}

function addForgetCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("forget")
    .summary("thin out old snapshots")
    .description(
      "Forget the snapshots of each name that no rule keeps, or the given ones. Rules keep the first " +
        "of each period, by the store's clock, in UTC, and always the newest. Needs the owner's identity, or " +
        "an identity that reads and the writer key of a host that may forget. Frees no space: `idk prune` " +
        "does, a grace period later.",
    )
    .argument("[snapshot...]", SNAPSHOT)
    .option("-l, --keep-last <n>", "keep the newest N")
    .option("-H, --keep-hourly <n>", "keep one per hour, for the last N hours that have any")
    .option("-d, --keep-daily <n>", "keep one per day, for the last N days that have any")
    .option("-w, --keep-weekly <n>", "keep one per week, for the last N weeks that have any")
    .option("-m, --keep-monthly <n>", "keep one per month, for the last N months that have any")
    .option("-y, --keep-yearly <n>", "keep one per year, for the last N years that have any")
    .option("--keep-within <span>", "keep all within SPAN before the newest: 1y6m, 90d, 36h")
    .addOption(
      repeatable("--keep-tag <tags>", "keep all with this tag, or with all of A,B; repeatable"),
    )
    .addOption(
      repeatable(
        "--name <pattern>",
        "apply the rules only to names that match PATTERN; repeatable",
      ),
    )
    .addOption(
      repeatable(
        "--head <address>",
        "forget this head, which does not count and stops `idk prune`; repeatable",
      ),
    )
    .option("--refused", "forget all heads that do not count")
    .option("--host-times", "use the hosts' times instead of the store's, for a copied store")
    .option("--message <text>", "store a message with it")
    .addOption(dryRunOption("forget nothing; print what would be forgotten"))
    .option("--prune", "then run `idk prune`")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(ownerKeyOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/forget.ts")).forget));
}

function addUnforgetCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("unforget")
    .summary("bring forgotten snapshots back")
    .description(
      "Bring forgotten snapshots back, until `idk prune` has deleted their data. Needs the same keys " +
        "as `idk forget`. NAME~2 counts forgotten snapshots, too, as `idk snapshots --all` lists them.",
    )
    .argument("[snapshot...]", "as `idk snapshots --all` lists it, best its address")
    .option(
      "--late",
      "also bring back snapshots forgotten over half the grace period ago; only if no prune is running",
    )
    .option("--message <text>", "store a message with it")
    .addOption(dryRunOption("change nothing; print what would be brought back"))
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(ownerKeyOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/forget.ts")).unforget));
}

function addPruneCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("prune")
    .summary("delete data that no snapshot needs")
    .description(
      "Delete data that no snapshot has needed for the grace period. Backups may run at the same time. Needs " +
        "an identity that opens all snapshots, and the right to delete. Reads no data.",
    )
    .addOption(dryRunOption("delete nothing; print what would be deleted now, and what later"))
    .option(
      "--accept-lost",
      "delete snapshots that lost their markers, too: run `idk recover` before",
    )
    .addOption(identityOption())
    .addOption(rollbackOption())
    .addOption(shardOption("prune"))
    .addOption(reportOption())
    .action(actionOf(async () => (await import("../commands/snapshots/prune.ts")).prune));
}

function addCheckCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("check")
    .summary("check the repository")
    .description(
      "Check all snapshots: their signatures, their folders, and that all they need is there. With " +
        "--read-data, also read the data, and list the files that use damaged packs. Needs an identity that " +
        "opens all snapshots.",
    )
    .option("--read-data [share]", "read all data, or a random share of it: --read-data=10%")
    .option(
      "--delete-damaged",
      "delete damaged packs, so that `idk backup --repair` stores them again (not if the store keeps versions)",
    )
    .option("--server-checksums", "ask the server for the checksums of other packs (the default)")
    .option("--no-server-checksums", "do not ask the server for checksums")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .addOption(shardOption("check"))
    .addOption(reportOption())
    .action(actionOf(async () => (await import("../commands/snapshots/check.ts")).check));
}

function addRecoverCommand(program: CommanderCommand, actionOf: ActionOf): void {
  program
    .command("recover")
    .summary("bring lost snapshots back")
    .description(
      "Find snapshots that are not listed because their markers are lost, and write the markers again " +
        "if all that a snapshot needs is there. Exit with 5 if any cannot be recovered. Do not run it " +
        "while `idk prune` runs.",
    )
    .addOption(dryRunOption("write nothing; print what would be recovered"))
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/snapshots/check.ts")).recover));
}

/** The commands that make and read snapshots, and free what none needs. */
export const SNAPSHOT_COMMANDS: readonly Group[] = [
  [["backup"], addBackupCommand],
  [["restore"], addRestoreCommand],
  [["snapshots"], addSnapshotsCommand],
  [["status"], addStatusCommand],
  [["cat"], addCatCommand],
  [["diff"], addDiffCommand],
  [["find"], addFindCommand],
  [["forget"], addForgetCommand],
  [["unforget"], addUnforgetCommand],
  [["prune"], addPruneCommand],
  [["check"], addCheckCommand],
  [["recover"], addRecoverCommand],
];

/** The commands with which the owner of a repository decides who may write. */
export function addRepositoryCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("repo")
    .summary("make a repository, or decide who may write to it")
    .description(
      "Make the repository of a store, show its settings, or decide who may write to it. The first " +
        "`idk backup` makes one by itself.",
    );

  group
    .command("init")
    .summary("make the repository of a store")
    .description(
      "Create a repository for snapshots in the store, owned by your first identity, and add it to the " +
        "configuration.",
    )
    .option(
      "--grace-period <period>",
      "how long prune keeps unneeded data, at least 1h (default: 7d)",
    )
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(ownerKeyOption())
    .action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoInit));

  group
    .command("show")
    .summary("show the settings of the repository")
    .description(
      "Print who may write which names, and the table that other machines need in their configuration.",
    )
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoShow));

  const change = (command: CommanderCommand): CommanderCommand =>
    command
      .addOption(recipientOption())
      .addOption(recipientsFileOption())
      .addOption(identityOption())
      .addOption(ownerKeyOption())
      .addOption(rollbackOption());

  change(
    group
      .command("allow")
      .summary("let a host write snapshots")
      .description(
        "Let a writer key write snapshots of these names, and print the table that its host needs in its " +
          "configuration. The host can read nothing.",
      )
      .argument("<writer>", "idk-writer1…, as `idk keygen --writer` prints it")
      .addOption(
        repeatable(
          "--names <pattern>",
          "the names it may write; * matches any text: 'web1/*'; repeatable",
        ),
      )
      .option("--forget", "also let it forget snapshots of these names"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoAllow));

  change(
    group
      .command("revoke")
      .summary("end the rights of a host")
      .description(
        "End the rights of a writer key. The snapshots that it wrote stay. Also stop its host's backups " +
          "and delete its credentials: snapshots that it still stores are ignored, and stop " +
          "`idk prune` until `idk forget --head` forgets them.",
      )
      .argument("<writer>", "idk-writer1…"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoRevoke));

  change(
    group
      .command("close")
      .summary("close a name for ever")
      .description(
        "Close the names that match PATTERN: nobody can write snapshots of them any more, not even you. " +
          "This cannot be undone. `idk forget` can then forget their newest snapshots, which it keeps " +
          "otherwise. Stop their backups first.",
      )
      .argument("<pattern>", "a name; * matches any text: 'web1/*'"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoClose));

  change(
    group
      .command("grace-period")
      .summary("lengthen the grace period")
      .description(
        "Lengthen the time for which `idk prune` keeps data that no snapshot needs. Run it while no prune " +
          "runs. It cannot be shortened, because running backups rely on it.",
      )
      .argument("<period>", "such as 14d"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoGracePeriod));

  change(
    group
      .command("share")
      .summary("let new readers read future snapshots")
      .description(
        "Let all configured recipients, including new ones, read future snapshots: encrypt for them the " +
          "settings and the keys of the packs that new snapshots still use. New readers cannot open earlier " +
          "snapshots. Needs the owner's identity.",
      ),
  ).action(actionOf(async () => (await import("../commands/snapshots/share.ts")).repoShare));
}
