import { type FolderState, type TreeBuilder, isSameEntry } from "./tree/tree-builder.ts";
import { type NewList, placeList } from "./files/piece-lists.ts";
import type { NewPiece } from "./packs/data-packer.ts";
import { abandon, countUse, dropUses } from "./files/uses.ts";
import type { Cache } from "../cache/cache.ts";
import type { CacheRecord } from "../cache/record.ts";
import type { MetadataPacker } from "./packs/metadata-packer.ts";
import type { PlacedPiece } from "../format/tree/encode-content.ts";

/** Something that happens to the tree, in the order of the walk. */
export type TreeStep =
  | {
      readonly kind: "enter";
      readonly folder: FolderState;
      readonly before: CacheRecord | undefined;
    }
  | { readonly kind: "leave"; readonly before: CacheRecord | undefined }
  | { readonly kind: "gone"; readonly before: CacheRecord }
  /** An entry that stays as it is. */
  | { readonly kind: "same"; readonly record: CacheRecord }
  | {
      readonly kind: "entry";
      readonly before: CacheRecord | undefined;
      /** Called once its pieces have their places. */
      readonly record: () => CacheRecord;
      /** Pieces of a file; `kept` if they stay as they are. */
      readonly content: readonly PlacedPiece[] | "kept";
      readonly last: NewPiece | undefined;
    }
  | { readonly kind: "list"; readonly list: NewList; readonly last: NewPiece | undefined }
  | {
      readonly kind: "abandoned";
      readonly piece: PlacedPiece;
      readonly last: NewPiece | undefined;
    };

/** The most steps that wait for pieces. */
const WAITING_MAX = 8192;

/**
 * Holds the steps of a walk until the pieces of their files have places, which is after those were
 * compressed, and passes them on in order.
 */
export interface EntryQueue {
  push(step: TreeStep): void;
  /** Passes on what is ready. */
  drain(): void;
  /** Whether so many wait that pieces have to be placed at once. */
  readonly isLong: boolean;
  readonly isEmpty: boolean;
}

export interface EntryQueueOptions {
  readonly tree: TreeBuilder;
  readonly cache: Cache;
  readonly metadata: MetadataPacker;
  readonly isUsable: (pack: number) => boolean;
  /** Is told of each pack that a file needs, and bytes of it. */
  readonly onUsed: (pack: number, bytes: number) => void;
  /** Is told whether an entry that was looked at has changed. */
  readonly onEntry: (change: "new" | "changed" | "same") => void;
}

export function entryQueue(options: EntryQueueOptions): EntryQueue {
  const { tree, cache, metadata, isUsable, onUsed, onEntry } = options;
  let steps: TreeStep[] = [];
  let next = 0;

  const take = (step: TreeStep): void => {
    switch (step.kind) {
      case "enter":
        tree.enter(step.folder, step.before);
        break;
      case "leave":
        tree.leave(step.before);
        break;
      case "gone":
        if (step.before.state.type === "file") dropUses(cache, step.before.value);
        tree.gone(step.before);
        break;
      case "same":
        tree.entry(step.record, true);
        onEntry("same");
        break;
      case "list":
        for (const piece of step.list.items) use(piece);
        placeList(step.list, cache, metadata, isUsable);
        step.list.items = [];
        break;
      case "abandoned":
        abandon(cache, step.piece);
        break;
      case "entry":
      default: {
        const record = step.record();
        const { before } = step;
        const isSame = before !== undefined && isSameEntry(record, before);
        if (step.content !== "kept") {
          if (before !== undefined && before.state.type === "file") dropUses(cache, before.value);
          for (const piece of step.content) use(piece);
        }
        onEntry(before === undefined ? "new" : isSame ? "same" : "changed");
        tree.entry(record, isSame);
      }
    }
  };
  const use = (piece: PlacedPiece): void => {
    countUse(cache, piece);
    if (piece.pack !== 0) onUsed(piece.pack, piece.stored);
  };
  const isReady = (step: TreeStep): boolean =>
    !("last" in step) || step.last === undefined || step.last.isPlaced;

  return {
    push: (step) => void steps.push(step),
    drain() {
      while (next < steps.length && isReady(steps[next]!)) {
        take(steps[next]!);
        next += 1;
      }
      if (next < WAITING_MAX && next < steps.length) return;
      steps = steps.slice(next);
      next = 0;
    },
    get isLong() {
      return steps.length - next >= WAITING_MAX;
    },
    get isEmpty() {
      return next === steps.length;
    },
  };
}
