import { type Command as CommanderCommand, Option } from "commander";
import type { ActionOf } from "./actions.ts";
import { identityOption, recipientOption, recipientsFileOption, repeatable } from "./options.ts";

const SNAPSHOT =
  "NAME, NAME~2, NAME@2026-11-20, the first 8 digits of its address, or latest: of all names";

function rollbackOption(): Option {
  return new Option(
    "--accept-rollback",
    "go on although the store has lost or hides newer snapshots that this machine has seen",
  );
}

function ownerKeyOption(): Option {
  return new Option(
    "--owner-key <file>",
    "the owner's key, if it is a writer key of its own (default: that of the first identity)",
  );
}

function threadsOption(): Option {
  return new Option(
    "--workers <n>",
    "use N threads; 0 for none (IDK_WORKERS; default: one per core)",
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
      repeatable("-e, --exclude <glob>", "leave out what matches, as in restic; repeatable"),
    )
    .addOption(
      repeatable(
        "--exclude-file <file>",
        "leave out the patterns in FILE, one per line; repeatable",
      ),
    )
    .addOption(
      repeatable("--iexclude <glob>", "the same as --exclude, in upper and lower case; repeatable"),
    )
    .addOption(
      repeatable(
        "--exclude-if-present <name>",
        "leave out what is in a folder with a file NAME, but not this file; repeatable",
      ),
    )
    .option("--exclude-larger-than <size>", "leave out files that are longer: 500K, 100M, 2G")
    .option("--exclude-caches", "leave out folders with a CACHEDIR.TAG, but not the tag")
    .option("-x, --one-file-system", "do not go into other file systems")
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

/** The commands that make and read snapshots, and free what none needs. */
export function addSnapshotCommands(program: CommanderCommand, actionOf: ActionOf): void {
  addWhat(
    program
      .command("backup")
      .summary("back up folders")
      .description(
        "Store folders as a snapshot: names, contents, links, modes, owners and times. Only what is " +
          "new is read and sent. The first backup to a store makes its repository, and a writer key " +
          "for this host; later ones need no identity. If some files cannot be read, make the " +
          "snapshot without them, list them, and exit with 7.",
      ),
  )
    .option("-m, --message <text>", "store a message, encrypted, with the snapshot")
    .addOption(
      repeatable("--tag <tags>", "store a tag, or A,B, encrypted, with the snapshot; repeatable"),
    )
    .option("--compress <how>", "zstd, lz4 or none (IDK_COMPRESS; default: zstd)")
    .addOption(dryRunOption("store nothing; print what would be stored"))
    .option("--repair", "store anew what the repository has lost")
    .option("--verify", "open each pack before it is sent, to find memory errors (the default)")
    .option("--no-verify", "send packs without opening them")
    .addOption(threadsOption())
    .action(actionOf(async () => (await import("../commands/snapshots/backup.ts")).backup));

  program
    .command("restore")
    .summary("restore a snapshot")
    .description(
      "Write a snapshot, or one path of it, into a folder, and verify all of it. Nothing is written " +
        "outside that folder, whatever the snapshot has. Set-id bits, owners and devices are restored " +
        "only if you ask for them. A file that cannot be restored is listed, and does not stop the others.",
    )
    .argument("<snapshot>", `SNAPSHOT or SNAPSHOT:PATH; SNAPSHOT is ${SNAPSHOT}`)
    .option("-t, --target <dir>", "the folder to restore into, created if it does not exist")
    .addOption(repeatable("--include <glob>", "restore only what matches; repeatable"))
    .addOption(repeatable("-e, --exclude <glob>", "leave out what matches; repeatable"))
    .option("--overwrite <when>", "existing files: always, if-changed or never (default: always)")
    .option("--delete", "remove what the snapshot lacks in restored folders, on one file system")
    .option("--verify", "read every file back, and compare it")
    .addOption(dryRunOption("write nothing; print what would be done"))
    .option("--owner", "restore owners and groups, by name where this system has the name")
    .option("--numeric-owner", "restore owners and groups by number")
    .option("--set-id", "restore set-user-id and set-group-id bits")
    .option("--devices", "restore devices")
    .addOption(threadsOption())
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/restore.ts")).restore));

  program
    .command("snapshots")
    .summary("list snapshots")
    .description(
      "List the snapshots, the oldest first. With --long, also print what each holds, which fetches " +
        "one more blob for each.",
    )
    .option("-l, --long", "print files, sizes, host and paths, too")
    .option("--name <pattern>", "list only those of these names, * any text")
    .addOption(
      repeatable("--tag <tags>", "list only those with these tags, A,B for both; repeatable"),
    )
    .option("--latest <n>", "list only the newest N of each name")
    .option("--all", "list forgotten ones, too")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/snapshots.ts")).snapshots));

  addWhat(
    program
      .command("status")
      .summary("show what a backup would store")
      .description(
        "Print what a backup of these paths would store now, when the last one was, and what an " +
          "interrupted one has stored. Stores nothing.",
      ),
  ).action(actionOf(async () => (await import("../commands/snapshots/status.ts")).status));

  program
    .command("cat")
    .summary("print a file of a snapshot")
    .description("Write the content of one file of a snapshot to standard output.")
    .argument("<snapshot>", `SNAPSHOT:PATH; SNAPSHOT is ${SNAPSHOT}`)
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/cat.ts")).cat));

  program
    .command("diff")
    .summary("compare two snapshots")
    .description(
      "Print what differs between two snapshots: + added, - removed, M other content, T another type, " +
        "U only other attributes. Folders that are equal are not read.",
    )
    .argument("<before>", SNAPSHOT)
    .argument("<after>", "the same")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/diff.ts")).diff));

  program
    .command("find")
    .summary("find files in snapshots")
    .description(
      "Print the files whose name matches PATTERN, or whose whole path does if it has a slash, in the " +
        "newest snapshot of each name.",
    )
    .argument("<pattern>", "* is any text but /, ** any folders, ? one character, [a-z] a range")
    .addOption(repeatable("-s, --snapshot <snapshot>", "search this snapshot instead; repeatable"))
    .option("--all", "search all snapshots")
    .option("-l, --long", "print modes, owners, sizes and times, too")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/find.ts")).find));

  program
    .command("forget")
    .summary("thin out old snapshots")
    .description(
      "Forget the snapshots of each name that no rule keeps, or those that are named. Rules keep the " +
        "first of each period, by the store's clock, in UTC, and always the newest. Needs the owner's " +
        "identity, or the writer key of a host that may forget, beside an identity that reads. Frees nothing by itself: see `idk prune`.",
    )
    .argument("[snapshot...]", SNAPSHOT)
    .option("-l, --keep-last <n>", "keep the newest N")
    .option("-H, --keep-hourly <n>", "keep one an hour, of the last N hours that have any")
    .option("-d, --keep-daily <n>", "keep one a day, of the last N days that have any")
    .option("-w, --keep-weekly <n>", "keep one a week, of the last N weeks that have any")
    .option("-m, --keep-monthly <n>", "keep one a month, of the last N months that have any")
    .option("-y, --keep-yearly <n>", "keep one a year, of the last N years that have any")
    .option(
      "--keep-within <span>",
      "keep all that are at most so much older than the newest: 1y6m, 90d, 36h",
    )
    .addOption(
      repeatable("--keep-tag <tags>", "keep all with these tags, A,B for both; repeatable"),
    )
    .addOption(
      repeatable("--name <pattern>", "only snapshots of these names, * any text; repeatable"),
    )
    .addOption(
      repeatable(
        "--head <address>",
        "forget this head, which does not count and ends `idk prune`; repeatable",
      ),
    )
    .option("--refused", "forget all heads that do not count")
    .option("--host-times", "go by the times of the hosts, for a copied store")
    .option("--message <text>", "store a message, encrypted")
    .addOption(dryRunOption("forget nothing; print what would be forgotten"))
    .option("--prune", "then run `idk prune`")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(ownerKeyOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/forget.ts")).forget));

  program
    .command("unforget")
    .summary("bring forgotten snapshots back")
    .description(
      "Bring forgotten snapshots back, until `idk prune` has deleted what they need. Needs the same keys " +
        "as `idk forget`. NAME~2 counts forgotten snapshots, too, as `idk snapshots --all` lists them.",
    )
    .argument("[snapshot...]", "see `idk snapshots --all`")
    .option(
      "--late",
      "also what was forgotten over half the grace period ago; use it only if no prune is running",
    )
    .option("--message <text>", "store a message, encrypted")
    .addOption(dryRunOption("change nothing; print what would be brought back"))
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(ownerKeyOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/forget.ts")).unforget));

  program
    .command("prune")
    .summary("delete what no snapshot needs")
    .description(
      "Delete what no snapshot needs and is older than the grace period. Backups may run at the same " +
        "time. Reads no data.",
    )
    .addOption(
      dryRunOption("delete nothing; print what would be deleted, and when the rest can be"),
    )
    .option("--accept-lost", "delete snapshots that `idk recover` cannot bring back")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/prune.ts")).prune));

  program
    .command("check")
    .summary("check the repository")
    .description(
      "Check all snapshots: that they count, that their folders can be read, and that all they need is " +
        "there. With --read-data, also read the data, and name the files that damage touches.",
    )
    .option("--read-data [share]", "read all data, or a random share of it: --read-data=10%")
    .option(
      "--delete-damaged",
      "delete damaged packs, so that `idk backup --repair` stores them anew (not if the store keeps versions)",
    )
    .option("--server-checksums", "ask the server for the checksums of other packs (the default)")
    .option("--no-server-checksums", "do not ask the server for checksums")
    .addOption(identityOption())
    .addOption(rollbackOption())
    .action(actionOf(async () => (await import("../commands/snapshots/check.ts")).check));

  program
    .command("recover")
    .summary("bring lost snapshots back")
    .description(
      "Find snapshots whose markers are lost, and write the markers again if all that a snapshot needs " +
        "is there. Exit with 5 if any cannot be recovered. Do not run it while `idk prune` runs.",
    )
    .addOption(dryRunOption("write nothing; print what would be recovered"))
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/snapshots/check.ts")).recover));
}

/** The commands with which the owner of a repository decides who may write. */
export function addRepositoryCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("repo")
    .summary("make a repository, or decide who may write to it")
    .description(
      "Make the repository of a store, show its settings, or decide who may write to it. `idk backup` " +
        "makes one by itself.",
    );

  group
    .command("init")
    .summary("make the repository of a store")
    .description(
      "Make a repository for snapshots in the store, owned by your first identity, and add it to the " +
        "configuration.",
    )
    .option("--grace-period <period>", "how long unneeded data stays, at least 1h (default: 7d)")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .addOption(ownerKeyOption())
    .action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoInit));

  group
    .command("show")
    .summary("show the settings of the repository")
    .description(
      "Show who may write what, and the table that other machines need in their configuration.",
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
        "Let a writer key write snapshots of these names, and print what its host needs in its " +
          "configuration. The host can read nothing.",
      )
      .argument("<writer>", "idk-writer1…, as `idk keygen --writer` prints it")
      .addOption(
        repeatable("--names <pattern>", "the names it may write, * any text: 'web1/*'; repeatable"),
      )
      .option("--forget", "let it forget snapshots of these names, too"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoAllow));

  change(
    group
      .command("revoke")
      .summary("end the rights of a host")
      .description(
        "End the rights of a writer key. What it wrote until now stays. Also stop its host's backups and " +
          "delete its credentials: what it still stores does not count, and stops `idk prune` until " +
          "`idk forget --head` forgets it.",
      )
      .argument("<writer>", "idk-writer1…"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoRevoke));

  change(
    group
      .command("close")
      .summary("close a name for ever")
      .description(
        "Close the names that match: nobody can write snapshots of them any more, you neither, and that " +
          "cannot be undone. Then `idk forget` can forget their newest snapshots, too, which it keeps " +
          "otherwise. Stop their backups before.",
      )
      .argument("<pattern>", "a name, or * for any text: 'web1/*'"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoClose));

  change(
    group
      .command("grace-period")
      .summary("make the grace period longer")
      .description(
        "Make the time longer for which `idk prune` leaves what no snapshot needs. Run it while no prune " +
          "runs. It cannot be made shorter, because running backups rely on it.",
      )
      .argument("<period>", "such as 14d"),
  ).action(actionOf(async () => (await import("../commands/snapshots/repo.ts")).repoGracePeriod));

  change(
    group
      .command("share")
      .summary("let new readers read what comes")
      .description(
        "Let the configured recipients, new ones too, read the snapshots to come: seal the settings to " +
          "them, and the keys of the packs that new snapshots still use. Earlier snapshots stay closed " +
          "to new readers. Needs the owner's identity.",
      ),
  ).action(actionOf(async () => (await import("../commands/snapshots/share.ts")).repoShare));
}
