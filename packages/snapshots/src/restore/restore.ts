import { attributePolicy, attributeSetter } from "./target/attributes.ts";
import type { RestoreOptions, RestoreSummary } from "./options.ts";
import { BYTES_FOR_THREADS } from "./contents/fetch-window.ts";
import type { Host } from "../files/host.ts";
import type { OpenSnapshot } from "../read/open-snapshot.ts";
import { type FileThreads, fileThreads } from "./threads/pool.ts";
import { joinedLinks } from "./links/joined-links.ts";
import { memoryKeeper, memoryOfRuntime } from "../threads/memory.ts";
import { openHost } from "../files/open-host.ts";
import { openTarget } from "./target/open-target.ts";
import { restoreEntries } from "./restore-entries.ts";
import { restoreReport } from "./report.ts";
import { selectionOf } from "./selection.ts";
import { targetFolders } from "./target/target-folders.ts";

/**
 * Restores a snapshot, or a part of it, into a folder. Nothing outside the folder is touched, and below
 * it no link is followed, whatever the snapshot claims and whoever changes the folder meanwhile.
 *
 * A file gets its name when its content is whole and has its hash. If the process is killed, the same
 * restore run again completes it, and replaces what the first has left under temporary names.
 *
 * Nothing is flushed to the disk. If the system crashes or loses power during the restore or some seconds
 * after it, files that have their names, sizes and times may lack content: restore again with `overwrite`
 * `always`, or with `if-changed` and `verify`.
 *
 * A file or folder of the snapshot that cannot be read, or written, is an entry of `errorList`, and
 * everything else is restored.
 *
 * @throws StorageError `tree` if the snapshot has more or fewer entries than it announces, or is too deep;
 *   `not-found` if it does not have the path; `usage`; `permission` if the target cannot be made;
 *   `unavailable` if the disk is full; `aborted`; and what the backend throws
 */
export async function restore(
  opened: OpenSnapshot,
  options: RestoreOptions,
): Promise<RestoreSummary> {
  return restoreWith(await openHost(), opened, options);
}

/**
 * `restore` by the calls of a host.
 *
 * @param threads are closed at the end
 */
export async function restoreWith(
  host: Host,
  opened: OpenSnapshot,
  options: RestoreOptions,
  threads: FileThreads = fileThreads(host.lost.length > 0 ? 0 : options.workers),
): Promise<RestoreSummary> {
  const { signal, dryRun = false } = options;
  const report = restoreReport(options.onEvent);
  const selection = selectionOf(options.include, options.exclude);
  const policy = attributePolicy(options);
  const attributes = attributeSetter(host, policy);
  const { totals } = opened.snapshot;
  const { files, directories, bytes } = totals;
  report.start({ announced: { files, directories, bytes }, lost: host.lost });

  const at = await opened.entry(options.path ?? "", { signal });
  const ofFolder = at?.entry.type === "directory" ? attributes.of(at.entry) : undefined;
  const folders = targetFolders(host, openTarget(host, options.target, ofFolder, dryRun));
  try {
    const context = {
      host,
      folders,
      attributes,
      policy,
      threads,
      links: joinedLinks(),
      report,
      verify: options.verify === true,
      deletes: options.delete === true,
      hasUnread: totals.errors > 0,
      freeMemory: memoryKeeper(await memoryOfRuntime()),
      signal,
    };
    const { overwrite = "always" } = options;
    const writesAll = at === undefined && selection.isAll && overwrite === "always" && !dryRun;
    // They start while the tree is walked.
    if (writesAll && bytes >= BYTES_FOR_THREADS) void threads.start();
    await restoreEntries(context, opened, at, selection, options);
    const { head, marker } = opened.found;
    const snapshot = { name: head.name, time: head.time, address: marker.address };
    const summary = report.summary();
    await report.settled(signal);
    return { ...summary, snapshot };
  } finally {
    await threads.close();
    folders.close();
  }
}
