import {
  backup as makeBackup,
  type BackupOptions,
  type BackupSummary,
  countFiles,
} from "@idk/snapshots";
import { lstatSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { command, type Command } from "../../command.ts";
import { reportOverrides } from "../../config/overrides.ts";
import {
  choice,
  field,
  flag,
  maxSize,
  optional,
  overrides,
  path,
  paths,
  recipients,
  type RepositorySource,
  tagLists,
  text,
  texts,
  workers,
} from "../../config/settings.ts";
import { Failure, systemCodeOf, usage } from "../../errors/failures.ts";
import { readList } from "../../input/list-file.ts";
import { loadRecipients } from "../../keys/recipients.ts";
import { count, roundBytes, toHex } from "../../output/text.ts";
import { duration } from "../../progress/words.ts";
import type { Session } from "../../session.ts";
import { type BackupReports, backupReports } from "../../snapshots/progress/backup.ts";
import { excludesOf } from "../../snapshots/excludes.ts";
import { failedRun, type LastRun, lastRunOf, saveLastRun } from "../../snapshots/last-run.ts";
import { checkName, defaultName, hostOf } from "../../snapshots/names.ts";
import { type OpenedRepository, READING } from "../../snapshots/opening/open-repository.ts";
import { openForWriting } from "../../snapshots/opening/open-for-writing.ts";
import type { RepositoryPlaces } from "../../snapshots/opening/places.ts";
import { unreadText } from "../../snapshots/unfinished.ts";

/** The settings by which `idk backup` and `idk status` agree on what is stored. */
export const WHAT = {
  ...READING,
  path: paths,
  filesFrom: optional(path),
  null: flag,
  name: optional(text),
  exclude: texts,
  excludeFile: paths,
  iexclude: texts,
  excludeIfPresent: texts,
  excludeLargerThan: maxSize,
  excludeCaches: flag,
  oneFileSystem: flag,
  recipients,
  acceptRollback: flag,
} as const;

const COMPRESSIONS = ["zstd", "lz4", "none"] as const;

function parseCompression(given: string): (typeof COMPRESSIONS)[number] {
  // In the configuration, of what `idk put` stores. A backup always compresses where it saves space.
  if (given === "auto") return "zstd";
  const known = COMPRESSIONS.find((name) => name === given);
  if (known === undefined) throw new Error("must be zstd, lz4 or none");
  return known;
}

/** Backs up folders as a snapshot. */
export const backup: Command = command(
  {
    ...WHAT,
    message: optional(text),
    tag: tagLists,
    compress: optional(field(parseCompression)),
    dryRun: flag,
    repair: flag,
    verify: choice,
    workers,
    overrides,
  },
  async (settings, session) => {
    const { out } = session;
    const { dryRun, compress, message, tag, repair, verify } = settings;
    const what = await whatToStore(settings, session);
    const to = await loadRecipients(settings.recipients);
    const used = await reportOverrides(settings.overrides, to, session);
    await using opened = await openForWriting(settings, { name: what.name, dryRun }, session);
    const options = await optionsOf(settings, what, to, opened.places);
    let reports: BackupReports | undefined;
    using meter = session.progress.start({
      command: "backup",
      noun: "file",
      // Of a first backup.
      measure: async (stop) => {
        if (reports?.hasTotals()) return {};
        const { files, bytes } = await countFiles(options, stop);
        return { totalItems: files, totalBytes: bytes };
      },
    });
    reports = backupReports(meter, session);
    const run = makeBackup(opened.repository, {
      ...options,
      compression: compress ?? "zstd",
      ...(message !== undefined && { message }),
      tags: [...new Set(tag.flat())],
      dryRun,
      repair,
      verify: verify ?? true,
      workers: settings.workers,
      onEvent: reports.onEvent,
      signal: session.signal,
    });
    const lastRun = opened.places.lastRunOf(what.name);
    const save = async (ended: LastRun) => (dryRun ? undefined : saveLastRun(lastRun, ended));
    const summary = await run.catch(async (error: unknown) => {
      await save(failedRun(error));
      if (session.signal.aborted && !dryRun && !out.json) {
        await out.note("idk: stored data is kept; run the same command again to continue");
      }
      throw error;
    });
    await save(lastRunOf(summary));
    meter.finish();
    await reports.finish();
    await reportNew(opened, session);
    await out.result(describe(summary, what.name), {
      ...summaryJson(summary),
      name: what.name,
      dryRun,
      ...(opened.isNew && { newRepository: true }),
      ...used,
    });
    await out.flush();
    failIfIncomplete(summary, dryRun);
  },
);

/** Notes that a dry run compared with nothing. */
export async function reportNew({ isNew }: OpenedRepository, { out }: Session): Promise<void> {
  if (!isNew || out.json) return;
  await out.note(
    "idk: the store has no repository of snapshots yet: the first `idk backup` makes it",
  );
}

type WhatSettings = {
  readonly path: readonly string[];
  readonly filesFrom: string | undefined;
  readonly null: boolean;
  readonly name: string | undefined;
  readonly repository: RepositorySource;
};

export interface What {
  readonly paths: readonly string[];
  readonly name: string;
}

/**
 * The paths to store, and the name of the snapshots.
 *
 * @throws Failure `not-found` if none of the paths exists: an empty snapshot would be the newest
 */
export async function whatToStore(
  settings: WhatSettings,
  { signal }: Pick<Session, "signal">,
): Promise<What> {
  const what = await namedPaths(settings, signal);
  if (what.paths.some(mayExist)) return what;
  const [first = "", ...others] = what.paths;
  throw new Failure(
    "not-found",
    others.length === 0
      ? `cannot back up ${first}: no such file or folder`
      : `none of the ${what.paths.length} paths to back up exists`,
  );
}

/** Whether there is something, as far as this user can tell. */
function mayExist(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(systemCodeOf(error));
  }
}

async function namedPaths(
  { path: given, filesFrom, null: zero, name, repository }: WhatSettings,
  signal: AbortSignal,
): Promise<What> {
  if (zero && filesFrom === undefined) {
    throw usage("--null applies to a list: name one with --files-from");
  }
  if (filesFrom === undefined && given.length === 0) {
    throw usage("name a folder or file, or a list of them with --files-from");
  }
  if (filesFrom === undefined) {
    const host = hostOf(repository.pins?.names?.value);
    return { paths: given, name: checkName(name ?? defaultName(given, host)) };
  }
  if (name === undefined)
    throw usage("--files-from needs a name for the snapshots: add --name NAME");
  const listed: string[] = [];
  for await (const each of readList(filesFrom, zero ? "\0" : "\n", signal)) listed.push(each);
  const all = [...given, ...listed];
  if (all.length === 0) throw usage(`the list ${filesFrom} is empty`);
  return { paths: all, name: checkName(name) };
}

/** The options that `idk backup` and `idk status` have in common. */
export async function optionsOf(
  settings: Parameters<typeof excludesOf>[0] & {
    readonly excludeIfPresent: readonly string[];
    readonly excludeLargerThan: number | undefined;
    readonly excludeCaches: boolean;
    readonly oneFileSystem: boolean;
    readonly acceptRollback: boolean;
  },
  { paths: given, name }: What,
  to: readonly string[],
  { caches, cacheOf }: RepositoryPlaces,
): Promise<BackupOptions> {
  const { excludeIfPresent, excludeLargerThan, excludeCaches, oneFileSystem } = settings;
  if (excludeIfPresent.some((each) => each === "" || each.includes("/"))) {
    throw usage("--exclude-if-present takes the name of a file, not a path");
  }
  return {
    name,
    paths: given.map((each) => Buffer.from(absolute(each))),
    recipients: to,
    cache: cacheOf(name),
    excludes: await excludesOf(settings, [caches]),
    excludeIfPresent: excludeIfPresent.map((each) => Buffer.from(each)),
    excludeLargerThan,
    excludeCaches,
    oneFileSystem,
    acceptRollback: settings.acceptRollback,
  };
}

/** As the snapshot shows it. Through a link, `..` leads to another folder than the text does. */
function absolute(path: string): string {
  return path.split("/").includes("..")
    ? isAbsolute(path)
      ? path
      : `${process.cwd()}/${path}`
    : resolve(path);
}

function describe(summary: BackupSummary, name: string): string {
  const { files, directories, bytes, newFiles, changedFiles, unchangedFiles, goneFiles } = summary;
  const { newBytes, storedBytes, errors, warningCount, marker, isUnchanged, milliseconds } =
    summary;
  const changes = [
    `${newFiles} new`,
    `${changedFiles} changed`,
    `${unchangedFiles} unchanged`,
    ...(goneFiles > 0 ? [`${goneFiles} gone`] : []),
  ];
  const lines = [
    `files    ${files} (${changes.join(", ")}), ${count(directories, "folder")}, ${roundBytes(bytes)}`,
    `stored   ${roundBytes(newBytes)} new, ${roundBytes(storedBytes)} sent, in ${took(milliseconds / 1000)}`,
    ...(errors > 0
      ? [`unread   ${unreadText(errors)}: named on standard error, not in the snapshot`]
      : []),
    ...(warningCount > 0 ? [`warnings ${warningCount}`] : []),
    ...(isUnchanged ? ["tree     the same as in the last snapshot"] : []),
  ];
  if (marker === undefined) return lines.join("\n");
  return [...lines, `snapshot ${marker.address.slice(0, 20)}  ${name}`].join("\n");
}

/** Short backups are the rule, and differ in tenths. */
const TENTHS_BELOW = 10;

function took(seconds: number): string {
  return seconds < TENTHS_BELOW ? `${seconds.toFixed(1)} s` : duration(seconds);
}

export function summaryJson(summary: BackupSummary): object {
  const { marker, treeId, errorList: _, warnings: __, ...counts } = summary;
  return {
    snapshot: marker?.address ?? null,
    ...(treeId !== undefined && { tree: toHex(treeId) }),
    ...counts,
  };
}

/** @param dryRun whether no snapshot was to be made */
export function failIfIncomplete({ errors }: Pick<BackupSummary, "errors">, dryRun: boolean): void {
  if (errors === 0) return;
  throw new Failure(
    "incomplete",
    dryRun
      ? `${unreadText(errors)} could not be read`
      : `the snapshot was made without ${unreadText(errors)} that could not be read`,
  );
}
