import {
  backup as makeBackup,
  type BackupOptions,
  type BackupSummary,
  countFiles,
} from "@idk/snapshots";
import { isAbsolute, resolve } from "node:path";
import { command, type Command } from "../../command.ts";
import { reportOverrides } from "../../config/overrides.ts";
import {
  choice,
  field,
  flag,
  optional,
  overrides,
  path,
  paths,
  recipients,
  text,
  texts,
  workers,
} from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { readList } from "../../input/list-file.ts";
import { loadRecipients } from "../../keys/recipients.ts";
import { count, roundBytes, toHex } from "../../output/text.ts";
import { duration } from "../../progress/words.ts";
import { type BackupReports, backupReports } from "../../snapshots/backup-progress.ts";
import { excludesOf } from "../../snapshots/excludes.ts";
import { checkName, defaultName } from "../../snapshots/names.ts";
import { READING } from "../../snapshots/open-repository.ts";
import { openForWriting } from "../../snapshots/open-for-writing.ts";
import type { RepositoryPlaces } from "../../snapshots/places.ts";

/** The settings by which `idk backup` and `idk status` agree on what is stored. */
export const WHAT = {
  ...READING,
  path: paths,
  filesFrom: optional(path),
  null: flag,
  name: optional(text),
  exclude: texts,
  excludeFile: paths,
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
    tag: texts,
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
    const what = await whatToStore(settings);
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
    const summary = await makeBackup(opened.repository, {
      ...options,
      compression: compress ?? "zstd",
      ...(message !== undefined && { message }),
      tags: tag,
      dryRun,
      repair,
      verify: verify ?? true,
      workers: settings.workers,
      onEvent: reports.onEvent,
      signal: session.signal,
    });
    meter.finish();
    await reports.finish();
    await out.result(describe(summary, what.name), {
      ...summaryJson(summary),
      name: what.name,
      dryRun,
      ...used,
    });
    await out.flush();
    failIfIncomplete(summary, dryRun);
  },
);

type WhatSettings = {
  readonly path: readonly string[];
  readonly filesFrom: string | undefined;
  readonly null: boolean;
  readonly name: string | undefined;
};

export interface What {
  readonly paths: readonly string[];
  readonly name: string;
}

/** The paths to store, and the name of the snapshots. */
export async function whatToStore({
  path: given,
  filesFrom,
  null: zero,
  name,
}: WhatSettings): Promise<What> {
  if (zero && filesFrom === undefined) {
    throw usage("--null applies to a list: name one with --files-from");
  }
  if (filesFrom === undefined && given.length === 0) {
    throw usage("name a folder or file, or a list of them with --files-from");
  }
  if (filesFrom === undefined) {
    return { paths: given, name: checkName(name ?? defaultName(given)) };
  }
  if (name === undefined)
    throw usage("--files-from needs a name for the snapshots: add --name NAME");
  const listed: string[] = [];
  for await (const each of readList(filesFrom, zero ? "\0" : "\n")) listed.push(each);
  const all = [...given, ...listed];
  if (all.length === 0) throw usage(`the list ${filesFrom} is empty`);
  return { paths: all, name: checkName(name) };
}

/** The options that `idk backup` and `idk status` have in common. */
export async function optionsOf(
  settings: Parameters<typeof excludesOf>[0] & {
    readonly excludeCaches: boolean;
    readonly oneFileSystem: boolean;
    readonly acceptRollback: boolean;
  },
  { paths: given, name }: What,
  to: readonly string[],
  { caches, cacheOf }: RepositoryPlaces,
): Promise<BackupOptions> {
  const { excludeCaches, oneFileSystem, acceptRollback } = settings;
  return {
    name,
    paths: given.map((each) => Buffer.from(absolute(each))),
    recipients: to,
    cache: cacheOf(name),
    excludes: await excludesOf(settings, [caches]),
    excludeCaches,
    oneFileSystem,
    acceptRollback,
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
    `stored   ${roundBytes(newBytes)} new, ${roundBytes(storedBytes)} sent, in ${duration(milliseconds / 1000)}`,
    ...(errors > 0 ? [`unread   ${count(errors, "file")}: listed above, not in the snapshot`] : []),
    ...(warningCount > 0 ? [`warnings ${warningCount}`] : []),
    ...(isUnchanged ? ["tree     the same as in the last snapshot"] : []),
  ];
  if (marker === undefined) return lines.join("\n");
  return [...lines, `snapshot ${marker.address.slice(0, 20)}  ${name}`].join("\n");
}

export function summaryJson(summary: BackupSummary): object {
  const { marker, treeId, errorList: _, warnings: __, ...counts } = summary;
  return {
    snapshot: marker?.address ?? null,
    ...(treeId !== undefined && { tree: toHex(treeId) }),
    ...counts,
  };
}

function failIfIncomplete({ errors }: BackupSummary, dryRun: boolean): void {
  if (errors === 0) return;
  throw new Failure(
    "incomplete",
    dryRun
      ? `${count(errors, "file")} could not be read`
      : `the snapshot was made without ${count(errors, "file")} that could not be read`,
  );
}
