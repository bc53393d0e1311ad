import { type WalkedEntry, walk } from "../read/walk.ts";
import { directoryOf, rootOf } from "../read/tree.ts";
import type { OpenSnapshot } from "../read/open-snapshot.ts";
import type { RestoreContext } from "./context.ts";
import type { RestoreOptions } from "./options.ts";
import type { Selection } from "./selection.ts";
import { coverageOf } from "./coverage.ts";
import { entryRestorer } from "./restore-entry.ts";
import { otherTurns } from "./contents/content-hash.ts";
import { walkedLevels } from "./levels.ts";

/** Entries that are collected before their packs are fetched: so many, whatever the tree has. */
const WINDOW = 32_768;
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
  const { report, signal } = context;
  const isFolder = at === undefined || at.entry.type === "directory";
  const base = isFolder ? (at?.depth ?? 0) : at.depth - 1;
  const coverage = coverageOf(opened.snapshot, isFolder ? (options.path ?? "") : "");
  const levels = walkedLevels(context, selection, coverage, options, base, isFolder);
  const entries = entryRestorer(context, opened, at, options);
  let size = 0;
  let enters = true;
  let turn = performance.now();

  const walked = (): AsyncIterable<WalkedEntry> | Iterable<WalkedEntry> => {
    const onUnreadable = (depth: number, error: unknown): void => {
      levels.leaveFrom(depth + 1);
      levels.current.isWhole = false;
      report.error(levels.current.location, error);
    };
    const shared = { signal, enters: () => enters, onUnreadable };
    const { totals } = opened.snapshot;
    if (at === undefined) {
      return walk(opened.tree, rootOf(opened.snapshot), { ...shared, totals });
    }
    if (at.entry.type !== "directory") return [at];
    const directory = directoryOf({ ...at, entry: at.entry });
    return walk(opened.tree, directory, { ...shared, atMost: totals, depth: base });
  };

  /** Returns whether the walk goes into the entry, if it is a folder. */
  const restoreWalked = async (each: WalkedEntry): Promise<boolean> => {
    const { entry, depth } = each;
    levels.leaveFrom(depth);
    const level = levels.current;
    level.names?.pass(entry.name);
    if (level.isLost) return false;
    const selected = levels.select(entry.name);
    if (selected === "none") return false;
    if (entry.type === "directory") {
      size += 1;
      return !levels.enter(entry, depth, selected).isLost;
    }
    if (selected === "below") return false;
    size += 1;
    const parent = levels.folderOf(level);
    if (parent !== undefined) await entries.add(each, parent);
    return false;
  };

  const flush = async (): Promise<void> => {
    await entries.flush();
    levels.finish();
    size = 0;
  };

  try {
    for await (const each of walked()) {
      enters = await restoreWalked(each);
      if (size >= WINDOW || entries.isFull) await flush();
      const listening = report.settled(signal);
      if (listening !== undefined) await listening;
      if (performance.now() - turn > TURN_MS) {
        context.freeMemory();
        await otherTurns(signal);
        turn = performance.now();
      }
    }
    levels.leaveFrom(base);
    await flush();
  } finally {
    entries.close();
  }
}
