import { NotAFolder, type TargetFolder } from "./target/target-folders.ts";
import { type NamesThere, finishFolder, listedNames } from "./target/finish-folder.ts";
import type { Selected, Selection } from "./selection.ts";
import type { Attributes } from "./target/attributes.ts";
import type { Coverage } from "./coverage.ts";
import type { DirectoryEntry } from "../format/tree/entry.ts";
import type { Location } from "./report.ts";
import type { RestoreContext } from "./context.ts";
import type { RestoreOptions } from "./options.ts";
import { assertOfOne } from "./faults.ts";
import { isTemporaryName } from "./target/place.ts";
import { type Root, rootIn } from "../walk/roots.ts";
import { pathText } from "../walk/excludes.ts";

/** A folder of the snapshot that the walk is in. */
export interface Level {
  readonly above: Level | undefined;
  readonly location: Location;
  readonly depth: number;
  readonly selected: Selected;
  /** What the backup looked at in it; undefined if the snapshot does not record that. */
  readonly covered: Root | undefined;
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

/** The folders that the walk is in, from the target to the deepest, and those that it has left. */
export interface Levels {
  /** The deepest. */
  readonly current: Level;
  /** Leaves the folders of this depth and deeper. */
  leaveFrom(depth: number): void;
  /** What is restored of an entry in the current folder. */
  select(name: Uint8Array): Selected;
  /** Goes into a folder in the current one. */
  enter(entry: DirectoryEntry, depth: number, selected: Selected): Level;
  /** The folder of a level, made if it is not there yet; undefined if that is impossible. */
  folderOf(level: Level): TargetFolder | undefined;
  /** Finishes the folders that were left, once everything in them is restored. */
  finish(): void;
}

/** @param base the depth of what goes into the target: a folder, whose entries do, or the one of an entry */
export function walkedLevels(
  context: RestoreContext,
  selection: Selection,
  coverage: Coverage,
  options: RestoreOptions,
  base: number,
  isFolder: boolean,
): Levels {
  const { host, folders, attributes, report } = context;
  const { overwrite, dryRun = false } = options;
  /** Names of the levels below the target, if patterns decide on what is in them. */
  const texts: string[] = [];
  const hasTexts = !selection.isAll || options.delete === true;
  const levels: Level[] = [];
  let left: Level[] = [];

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

  function startNames(level: Level): void {
    if (options.delete !== true || level.selected !== "all" || level.folder === undefined) return;
    if (level.folder.isNew || !isFolder) return;
    if (level.covered === undefined && (level.above === undefined || level.above.covered)) {
      const why = "the snapshot does not record whether its backup covered this folder";
      report.warning(level.folder, `${why}, so nothing in it is deleted`);
    }
    if (level.covered?.isGiven !== true) return;
    // Some names are asked for only when the walk is elsewhere.
    const above = [...texts];
    const deletes = (name: Uint8Array): boolean => {
      const path = [...above, pathText(name)];
      return !coverage.leavesOut(path) && selection.of("all", path) === "all";
    };
    try {
      level.names = listedNames(host, folders.open(level.folder), deletes);
    } catch (error) {
      assertOfOne(error);
      report.warning(level.folder, "it cannot be listed, so nothing in it is deleted");
    }
  }

  const start = (level: Level): Level => {
    levels.push(level);
    if (level.selected === "all") folderOf(level);
    startNames(level);
    return level;
  };
  start({
    above: undefined,
    location: folders.root,
    depth: base,
    selected: selection.isAll || !options.include?.length ? "all" : "below",
    covered: coverage.root,
    folder: folders.root,
    attributes: undefined,
    isLost: false,
    isWhole: true,
    names: undefined,
  });

  return {
    get current() {
      return levels.at(-1)!;
    },
    leaveFrom(depth) {
      for (
        let last = levels.at(-1);
        last !== undefined && last.depth >= depth;
        last = levels.at(-1)
      ) {
        levels.pop();
        texts.pop();
        if (last.folder !== undefined) left.push(last);
      }
    },
    select(name) {
      if (selection.isAll) return "all";
      texts.push(pathText(name));
      const selected = selection.of(levels.at(-1)!.selected, texts);
      texts.pop();
      return selected;
    },
    enter(entry, depth, selected) {
      const above = levels.at(-1)!;
      if (hasTexts) texts.push(pathText(entry.name));
      return start({
        above,
        location: { parent: above.location, name: new Uint8Array(entry.name) },
        depth,
        selected,
        covered: rootIn(above.covered, entry.name),
        folder: undefined,
        attributes: attributes.of(entry),
        isLost: false,
        isWhole: true,
        names: undefined,
      });
    },
    folderOf,
    finish() {
      for (const { folder, names, isWhole } of left) {
        finishFolder(context, folder!, names, isWhole, dryRun);
      }
      left = [];
    },
  };
}
