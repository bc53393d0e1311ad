import { type Existing, compareExisting } from "./existing.ts";
import type { Planned, RestoreContext } from "./context.ts";
import type { RestoreOptions } from "./options.ts";
import type { Selected, Selection } from "./selection.ts";
import { type WalkedEntry, walk } from "../read/walk.ts";
import { directoryOf, rootOf } from "../read/tree.ts";
import { finishFolder, listedNames, type NamesThere } from "./finish-folder.ts";
import { type Attributes } from "./attributes.ts";
import type { Entry } from "../format/tree/entry.ts";
import { NotAFolder, type TargetFolder } from "./target-folders.ts";
import type { OpenSnapshot } from "../read/open-snapshot.ts";
import { assertOfOne } from "./faults.ts";
import { fileRestorer } from "./restore-files.ts";
import { hardLinker, type LinkJob } from "./hard-links.ts";
import { isTemporaryName } from "./place.ts";
import { makeSpecial } from "./make-special.ts";
import { otherTurns } from "./content-hash.ts";
import { inPath } from "../read/paths.ts";
import { pathText } from "../walk/excludes.ts";
import { type Location, pathOf } from "./report.ts";

/** A folder of the snapshot that the walk is in. */
interface Level {
  readonly above: Level | undefined;
  readonly location: Location;
  readonly depth: number;
  readonly selected: Selected;
  /** Undefined until something in it is restored, if it is only on the way to what is included. */
  folder: TargetFolder | undefined;
  /** What it gets; undefined for the target itself. */
  readonly attributes: Attributes | undefined;
  /** It cannot be made, which was reported. */
  isLost: boolean;
  /** Whether all of its entries were seen. */
  isWhole: boolean;
  /** What is in it and not in the snapshot, if that is deleted. */
  names: NamesThere | undefined;
}

/** Entries that are collected before their packs are fetched: so many, whatever the tree has. */
const WINDOW = 65_536;
/** Bytes of extended attributes in a window, of which a file may have as many as a pack. */
const EXTENDED_MAX = 16 * 2 ** 20;
/** For how long the walk may go on without waiting. */
const TURN_MS = 50;

/** Restores the entries of a snapshot, or those at a path in it. */
export async function restoreEntries(
  context: RestoreContext,
  opened: OpenSnapshot,
  at: WalkedEntry | undefined,
  selection: Selection,
  options: RestoreOptions,
): Promise<void> {
  const { host, folders, attributes, links, report, signal } = context;
  const { overwrite = "always", dryRun = false } = options;
  const devices =
    options.devices === true || (options.numericOwner === true && process.geteuid?.() === 0);
  const texts: string[] = [];
  const isDirectory = at === undefined || at.entry.type === "directory";
  const base = isDirectory ? (at?.depth ?? 0) : at.depth - 1;

  const levels: Level[] = [
    {
      above: undefined,
      location: folders.root,
      depth: base,
      selected: selection.isAll || !options.include?.length ? "all" : "below",
      folder: folders.root,
      attributes: undefined,
      isLost: false,
      isWhole: true,
      names: undefined,
    },
  ];
  let left: Level[] = [];
  let size = 0;
  let extended = 0;

  const fail = (planned: Planned, error: unknown): void => {
    if (planned.group !== undefined) links.drop(planned.group);
    report.error(planned, error);
  };
  const done = (planned: Planned, type: Entry["type"]): void => {
    report.entry(planned, type, planned.action);
  };
  const files = fileRestorer(context, opened, flush, (file) => done(file, "file"), fail);
  const hardLinks = hardLinker(context);

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
          await restoreEntry(found!, job.parent, outcome);
        } catch (error) {
          assertOfOne(error);
          report.error(job, error);
        }
      }
      await files.flush();
      jobs = later;
    }
    for (const level of left)
      finishFolder(context, level.folder!, level.names, level.isWhole, dryRun);
    left = [];
    size = 0;
    extended = 0;
    isFlushing = false;
  }

  /** The folder of a level, made if it is not there yet; undefined if that is impossible. */
  function folderOf(level: Level): TargetFolder | undefined {
    if (level.folder !== undefined || level.isLost) return level.folder;
    const parent = folderOf(level.above!);
    if (parent === undefined) {
      level.isLost = true;
      return undefined;
    }
    const { location, attributes: to } = level;
    const { name } = location;
    try {
      const keepsAttributes = level.selected === "below";
      const enter = () => folders.enter(parent, name, to, { dryRun, keepsAttributes });
      try {
        level.folder = enter();
      } catch (error) {
        if (!(error instanceof NotAFolder) || overwrite === "never") throw error;
        if (!dryRun) host.removeFile(folders.open(parent), name);
        level.folder = dryRun ? folders.absent(parent, name) : enter();
      }
      if (isTemporaryName(name)) parent.hasTemporaryNames = true;
      report.entry(location, "directory", level.folder.isNew ? "created" : "unchanged");
    } catch (error) {
      assertOfOne(error);
      level.isLost = true;
      report.error(location, error);
    }
    return level.folder;
  }

  function leave(level: Level): void {
    levels.pop();
    if (texts.length >= levels.length) texts.length = Math.max(0, levels.length - 1);
    if (level.folder === undefined) return;
    left.push(level);
  }

  function startNames(level: Level): void {
    if (options.delete !== true || level.selected !== "all" || level.folder === undefined) return;
    if (level.folder.isNew || !isDirectory) return;
    // Some names are asked for only when the walk is elsewhere.
    const above = [...texts];
    const deletes = (name: Uint8Array) =>
      selection.isAll || selection.of("all", [...above, pathText(name)]) === "all";
    try {
      level.names = listedNames(host, folders.open(level.folder), deletes);
    } catch (error) {
      assertOfOne(error);
      report.warning(level.folder, "it cannot be listed, so nothing in it is deleted");
    }
  }

  async function restoreEntry(
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
        const { verify } = context;
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
    } catch (error) {
      assertOfOne(error);
      report.error(location, error);
      return;
    }
    for (const [key, value] of to.extended ?? []) extended += key.length + value.length + 256;
    if (existing.action === "unchanged") {
      const warn = (message: string) => report.warning(location, message);
      if (!dryRun) attributes.change(folders.open(parent), name, existing.stat, to, warn);
      report.entry(location, entry.type, "unchanged");
      return;
    }
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

  let enters = true;
  let turn = performance.now();
  const unreadable = (depth: number, error: unknown): void => {
    while (levels.at(-1)!.depth > depth) leave(levels.at(-1)!);
    const level = levels.at(-1)!;
    level.isWhole = false;
    report.error(level.location, error);
  };
  const { totals } = opened.snapshot;
  const walked = walkedEntries();
  async function* walkedEntries(): AsyncGenerator<WalkedEntry> {
    const shared = { signal, enters: () => enters, onUnreadable: unreadable };
    if (at === undefined) {
      yield* walk(opened.tree, rootOf(opened.snapshot), { ...shared, totals });
    } else if (at.entry.type === "directory") {
      const directory = directoryOf({ ...at, entry: at.entry });
      yield* walk(opened.tree, directory, { ...shared, atMost: totals, depth: base });
    } else {
      yield at;
    }
  }

  try {
    startNames(levels[0]!);
    for await (const each of walked) {
      const { entry, depth } = each;
      while (levels.at(-1)!.depth >= depth) leave(levels.at(-1)!);
      const level = levels.at(-1)!;
      level.names?.pass(entry.name);
      enters = entry.type === "directory";
      if (level.isLost) {
        enters = false;
        continue;
      }
      let selected: Selected = "all";
      if (!selection.isAll) {
        texts.push(pathText(entry.name));
        selected = selection.of(level.selected, texts);
        if (entry.type !== "directory") texts.pop();
      }
      if (selected === "none" || (selected === "below" && entry.type !== "directory")) {
        if (entry.type === "directory") texts.pop();
        enters = false;
        continue;
      }
      size += 1;
      if (entry.type === "directory") {
        const name = new Uint8Array(entry.name);
        const inner: Level = {
          above: level,
          location: { parent: level.location, name },
          depth,
          selected,
          folder: undefined,
          attributes: attributes.of(entry),
          isLost: false,
          isWhole: true,
          names: undefined,
        };
        levels.push(inner);
        if (selected === "all") folderOf(inner);
        startNames(inner);
        enters = !inner.isLost;
      } else {
        const parent = folderOf(level);
        if (parent !== undefined) await restoreEntry(each, parent);
      }
      if (size >= WINDOW || files.pieces >= WINDOW || extended >= EXTENDED_MAX) await flush();
      if (performance.now() - turn > TURN_MS) {
        await otherTurns(signal);
        turn = performance.now();
      }
    }
    while (levels.length > 0) leave(levels.at(-1)!);
    await flush();
  } finally {
    files.close();
  }
}

/** The path in the snapshot of something in the target. */
function snapshotPath(at: WalkedEntry | undefined, location: Location): Uint8Array {
  const path = pathOf(location);
  if (at === undefined) return path;
  return at.entry.type === "directory" ? inPath(at.path, path) : at.path;
}
