import { hostname, userInfo } from "node:os";
import { equal, randomKey, sealRoot, toHex } from "@idk/storage/blobs";
import { reusablePacks, startSession } from "./session/start.ts";
import { sessionClock, graceTimes } from "./session/times.ts";
import type { BackupEvent, BackupOptions, BackupSummary } from "./options.ts";
import type { Cache } from "../cache/cache.ts";
import type { Excludes } from "../walk/excludes.ts";
import type { Host } from "../files/host.ts";
import type { Repository } from "../repository/repository.ts";
import { joinPaths, resolvePath } from "../walk/roots.ts";
import type { SessionId } from "../format/names/identifiers.ts";
import { StorageError } from "@idk/storage";
import { UUID_LENGTH } from "../format/limits.ts";
import type { WriterState } from "./session/state.ts";
import { chainOf } from "../format/names/chain.ts";
import { compileExcludes } from "../walk/excludes.ts";
import { type Report, createReport } from "./report.ts";
import { dryRunSink } from "./dry-run.ts";
import { linkGroups } from "../walk/link-groups.ts";
import { memoryKeeper, memoryOfRuntime } from "../threads/memory.ts";
import { merge } from "../cache/merge.ts";
import { openHost } from "../files/open-host.ts";
import { packThreads } from "./packs/threads.ts";
import { type WalkOptions, walk } from "../walk/walk.ts";
import { type WalkSink, walkFolders } from "./folder-walk.ts";
import { shownPath } from "../read/paths.ts";
import { writing } from "./writing.ts";

type StartEvent = Extract<BackupEvent, { kind: "start" }>;

/** Runs a backup with an open cache. A test can give a host on which files change as they are read. */
export async function runBackup(
  repository: Repository,
  options: BackupOptions,
  cache: Cache,
  given?: Host,
): Promise<BackupSummary> {
  const begun = performance.now();
  const { backend, naCl, pinned, writer } = repository;
  const ownTime = options.now ?? Date.now;
  const startTime = Math.trunc(ownTime());
  const report = createReport(options.onEvent);
  const excluding = walkOptionsOf(options);
  const paths = resolvedPaths(options);
  const host = given ?? (await openHost());
  // Sealed first, so that a wrong recipient is noticed before anything is read.
  const session = {
    id: toHex(crypto.getRandomValues(new Uint8Array(UUID_LENGTH))) as SessionId,
    secret: randomKey(),
  };
  const { recipients } = options;
  const sessionKey = sealRoot(naCl, { content: session.secret, recipients }).blob;

  const freeMemory = memoryKeeper(await memoryOfRuntime());

  const own = new AbortController();
  const { signal } = own;
  const abort = (): void => own.abort(options.signal?.reason);
  if (options.signal?.aborted === true) abort();
  options.signal?.addEventListener("abort", abort, { once: true });
  const threads = packThreads(
    naCl,
    naCl.name === "portable" ? "portable" : "auto",
    options.workers,
    freeMemory,
  );
  let close: (() => Promise<void>) | undefined;
  try {
    const times = graceTimes(pinned.graceSeconds);
    const clock = sessionClock(backend, signal);
    const chain = chainOf(pinned.repository, options.name);
    const { acceptRollback = false, repair = false, dryRun: isDryRun = false } = options;
    const remembered = acceptRollback ? (await repository.memory.recall()).get(chain) : undefined;
    const start = await startSession({
      repository,
      chain,
      cache,
      clock,
      times,
      ownTime,
      acceptRollback,
      isDryRun,
      signal,
    });
    const reusable = await reusablePacks(start, {
      backend,
      cache,
      times,
      newKeyLength: sessionKey.length,
      acceptRollback,
      repair,
      signal,
    });
    const { last } = start;
    report.event({
      kind: "start",
      expected: expectedOf(last),
      notReused: start.notReused,
      resumedPacks: reusable.interrupted,
      lost: host.lost,
    });

    const links = linkGroups(last?.nextLinks ?? 1);
    let isAnyFolderRead = false;
    const onGivenFolder = (): void => {
      isAnyFolderRead = true;
    };
    const steps = walk(host, joinPaths(paths), { ...excluding, onGivenFolder });
    const merged = merge(steps, cache.records());
    const readAll = options.readAll ?? false;
    const walkTo = async (sink: WalkSink): Promise<void> => {
      await walkFolders(merged, sink, { host, cache, links, readAll, ownTime });
      if (report.counts.files === 0 && !isAnyFolderRead) throw nothingRead(report);
    };
    const summary = (
      marker: BackupSummary["marker"],
      treeId: BackupSummary["treeId"],
      isUnchanged: boolean,
    ): BackupSummary => {
      report.progress(true);
      const milliseconds = performance.now() - begun;
      return { ...report.counts, ...report.lists(), marker, treeId, isUnchanged, milliseconds };
    };
    if (isDryRun) {
      const sink = dryRunSink(cache, report, (pack) => reusable.has(pack), signal);
      await walkTo(sink);
      const { newFiles, changedFiles, goneFiles } = report.counts;
      const isUnchanged = last !== undefined && newFiles + changedFiles + goneFiles === 0;
      return summary(undefined, undefined, isUnchanged);
    }
    const committing = {
      repository,
      writer: writer!,
      name: options.name,
      recipients,
      message: options.message ?? null,
      tags: options.tags ?? [],
      expectedSeconds: options.expectedSeconds ?? null,
      rolledBack: remembered,
      cache,
      clock,
      times,
      ownTime,
      onWarning: (message: string) => report.warning(undefined, message),
      signal,
    };
    const write = writing({
      committing,
      chain,
      options: { ...options, paths },
      // A list of packs that is lost would be one of every later snapshot, too: writers cannot read it.
      start: repair && start.base ? { ...start, base: { ...start.base, reaches: [] } } : start,
      reusable,
      session,
      sessionKey,
      threads,
      links,
      report,
      host: options.host ?? hostname(),
      user: options.user ?? userName(host),
      startTime,
      freeMemory,
    });
    ({ close } = write);
    await walkTo(write.sink);
    const { marker, treeId } = await write.finish();
    return summary(marker, treeId, last !== undefined && equal(treeId, last.treeId));
  } catch (error) {
    // What is being sent is of no use.
    own.abort(error);
    throw error;
  } finally {
    await close?.();
    await threads.close();
    options.signal?.removeEventListener("abort", abort);
  }
}

/** Of a first backup that ended no more than parts, nothing is known. */
function expectedOf(last: WriterState | undefined): StartEvent["expected"] {
  if (last === undefined || last.files + last.directories === 0) return undefined;
  return { files: last.files, directories: last.directories, bytes: last.bytes };
}

/** What decides which files a backup stores. */
export type SelectingOptions = Pick<
  BackupOptions,
  | "paths"
  | "excludes"
  | "excludeCaches"
  | "excludeIfPresent"
  | "excludeLargerThan"
  | "oneFileSystem"
>;

export function walkOptionsOf(options: SelectingOptions): WalkOptions {
  const { excludeCaches = false, excludeIfPresent = [], oneFileSystem = false } = options;
  const { excludeLargerThan } = options;
  const excludes = excludesOf(options);
  return { excludes, excludeCaches, excludeIfPresent, excludeLargerThan, oneFileSystem };
}

function excludesOf({ excludes = [] }: SelectingOptions): Excludes | undefined {
  try {
    return compileExcludes(excludes);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new StorageError("usage", cause.message, { cause });
  }
}

export function resolvedPaths({ paths }: Pick<BackupOptions, "paths">): Uint8Array[] {
  try {
    return paths.map(resolvePath);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError("usage", `cannot find what to back up: ${why}`, { cause });
  }
}

/** Otherwise a snapshot of nothing would be the newest, and after some of these, the good ones be forgotten. */
function nothingRead(report: Report): StorageError {
  const first = report.lists().errorList[0];
  const why = first === undefined ? "" : `: ${shownPath(first.path)}: ${first.error.message}`;
  const text = `none of the paths to back up could be read, so no snapshot is made${why}`;
  return new StorageError("unavailable", text, { cause: first?.error });
}

function userName(host: Host): string {
  const id = process.getuid?.();
  const known = id === undefined ? undefined : host.userName(id);
  if (known !== undefined) return known;
  // A container may run under a number that has no name. Bun then says "unknown", as it does where the
  // environment does not have the name, such as in a timer.
  const number = `${id ?? ""}`;
  try {
    const { username } = userInfo();
    return username === "unknown" ? number : username;
  } catch {
    return number;
  }
}
