import { type Existing, compareExisting } from "./target/existing.ts";
import { type HardLinker, type LinkJob, hardLinker } from "./links/hard-links.ts";
import { type Location, pathOf } from "./report.ts";
import type { Planned, RestoreContext } from "./context.ts";
import type { Entry } from "../format/tree/entry.ts";
import type { OpenSnapshot } from "../read/open-snapshot.ts";
import type { RestoreOptions } from "./options.ts";
import type { TargetFolder } from "./target/target-folders.ts";
import type { WalkedEntry } from "../read/walk.ts";
import { assertOfOne } from "./faults.ts";
import { fileRestorer } from "./contents/restore-files.ts";
import { inPath } from "../read/paths.ts";
import { isTemporaryName } from "./target/place.ts";
import { makeSpecial } from "./target/make-special.ts";

/** Restores entries other than folders, many at once. */
export interface EntryRestorer {
  /** Whether so much is planned that it should be written. */
  readonly isFull: boolean;
  /** Restores an entry, or plans it. */
  add(walked: WalkedEntry, parent: TargetFolder): Promise<void>;
  /** Writes everything that is planned. */
  flush(): Promise<void>;
  /** Removes what is not finished. */
  close(): void;
}

/** Bytes of extended attributes that are planned, of which a file may have as many as a pack. */
const EXTENDED_MAX = 16 * 2 ** 20;

/** @param at what is restored of the snapshot; undefined for all of it */
export function entryRestorer(
  context: RestoreContext,
  opened: OpenSnapshot,
  at: WalkedEntry | undefined,
  options: RestoreOptions,
): EntryRestorer {
  const { host, folders, attributes, links, report, signal, verify } = context;
  const { overwrite = "always", dryRun = false } = options;
  const devices =
    options.devices === true || (options.numericOwner === true && process.geteuid?.() === 0);
  let extended = 0;

  const fail = (planned: Planned, error: unknown): void => {
    if (planned.group !== undefined) links.drop(planned.group);
    report.error(planned, error);
  };
  const done = (planned: Planned, type: Entry["type"]): void => {
    report.entry(planned, type, planned.action);
  };
  const files = fileRestorer(context, opened, flush, (file) => done(file, "file"), fail);
  const hardLinks: HardLinker = hardLinker(context);

  let isFlushing = false;
  async function flush(): Promise<void> {
    await files.flush();
    // A long file that is restored after all may fill a window of its own.
    if (isFlushing) return;
    isFlushing = true;
    for (let jobs = hardLinks.take(); jobs.length > 0;) {
      // Of these groups a new first entry is being written: the others are joined with that.
      const promoted = new Set<number>();
      const later: LinkJob[] = [];
      for (const job of jobs) {
        if (promoted.has(job.group)) {
          later.push(job);
          continue;
        }
        const outcome = hardLinks.join(job);
        if (outcome === "joined") continue;
        if (outcome === "first") promoted.add(job.group);
        try {
          const found = await opened.entry(snapshotPath(at, job), { signal });
          await add(found!, job.parent, outcome);
        } catch (error) {
          assertOfOne(error);
          report.error(job, error);
        }
      }
      await files.flush();
      jobs = later;
    }
    extended = 0;
    isFlushing = false;
  }

  async function add(
    walked: WalkedEntry,
    parent: TargetFolder,
    as: "joined" | "first" | "alone" = "joined",
  ): Promise<void> {
    const { entry } = walked;
    if (entry.type === "directory") return;
    const name = new Uint8Array(entry.name);
    const location = { parent, name };
    if (isTemporaryName(name)) parent.hasTemporaryNames = true;
    if (entry.type.endsWith("device") && !devices) {
      report.entry(location, entry.type, "skipped");
      return;
    }
    const group = entry.extra.links;
    const to = attributes.of(entry);
    let existing: Existing = { action: "created" };
    try {
      if (!parent.isNew && !parent.isAbsent) {
        const folder = folders.open(parent);
        const comparing = { overwrite, verify, attributes, signal };
        existing = await compareExisting(host, folder, entry, to, comparing);
      }
      const first = group !== undefined && as === "joined" ? links.find(entry) : undefined;
      if (existing.action === "kept") {
        if (group !== undefined && first === undefined && existing.isSame) {
          links.add(entry, pathOf(location));
        }
        report.entry(location, entry.type, "kept");
        return;
      }
      if (first !== undefined) {
        if (dryRun) report.entry(location, entry.type, "linked");
        else hardLinks.add({ ...location, type: entry.type, group: group! });
        return;
      }
      if (group !== undefined && as !== "alone") links.add(entry, pathOf(location));
      if (existing.action === "unchanged") {
        const warn = (message: string) => report.warning(location, message);
        if (!dryRun) attributes.change(folders.open(parent), name, existing.stat, to, warn);
        report.entry(location, entry.type, "unchanged");
        return;
      }
    } catch (error) {
      assertOfOne(error);
      report.error(location, error);
      return;
    }
    for (const [key, value] of to.extended ?? []) extended += key.length + value.length + 256;
    const joins = as === "alone" ? undefined : group;
    const planned: Planned = { ...location, attributes: to, action: existing.action, group: joins };
    if (dryRun) {
      if (entry.type === "file") report.written(entry.size);
      done(planned, entry.type);
      return;
    }
    if (entry.type === "file") {
      await files.add(planned, { ...walked, entry });
      return;
    }
    try {
      makeSpecial(context, planned, entry);
      done(planned, entry.type);
    } catch (error) {
      assertOfOne(error);
      fail(planned, error);
    }
  }

  return {
    get isFull() {
      return files.isFull || extended >= EXTENDED_MAX;
    },
    add,
    flush,
    close: () => files.close(),
  };
}

/** The path in the snapshot of something in the target. */
function snapshotPath(at: WalkedEntry | undefined, location: Location): Uint8Array {
  const path = pathOf(location);
  if (at === undefined) return path;
  return at.entry.type === "directory" ? inPath(at.path, path) : at.path;
}
