import type { Step, Unreadable } from "../walk/walk.ts";
import { type CacheRecord, StoredRecord } from "./record.ts";

/** A step of a walk and what the cache has of it, or what the cache has and the walk has not. */
export type Merged =
  | {
      readonly kind: "step";
      readonly step: Exclude<Step, Unreadable>;
      readonly before?: CacheRecord;
    }
  | { readonly kind: "gone"; readonly before: CacheRecord }
  | Unreadable;

/**
 * Merges a walk with the records of the last one. Both are in one order, so this takes one pass and no
 * look-up. An entry that became a folder, or the reverse, is gone and new.
 */
export function* merge(steps: Iterable<Step>, records: Iterator<CacheRecord>): Generator<Merged> {
  let record = records.next();
  /** How deep the walk is in a folder that the cache does not have. */
  let fresh = 0;
  /** Passes over a record, and what is in it if it is a folder. */
  function* gone(): Generator<Merged> {
    let depth = 0;
    do {
      if (record.done === true) return;
      const before = record.value;
      if (before.kind === "enter") depth += 1;
      if (before.kind === "leave") depth -= 1;
      yield { kind: "gone", before };
      record = records.next();
    } while (depth > 0);
  }
  for (const step of steps) {
    if (step.kind === "unreadable") {
      yield step;
      continue;
    }
    if (fresh === 0) {
      while (record.done !== true && comesBefore(record.value, step)) yield* gone();
      if (record.done !== true && isSame(record.value, step)) {
        yield { kind: "step", step, before: record.value };
        record = records.next();
        continue;
      }
    }
    if (step.kind === "enter") fresh += 1;
    if (step.kind === "leave") fresh -= 1;
    yield { kind: "step", step };
  }
  while (record.done !== true) yield* gone();
}

/** Both in one folder: its end comes after all names. */
function comesBefore(record: CacheRecord, step: Exclude<Step, Unreadable>): boolean {
  if (record.kind === "leave") return false;
  if (step.kind === "leave") return true;
  const order = compareNames(record, step.name);
  return order < 0 || (order === 0 && record.kind !== step.kind);
}

function isSame(record: CacheRecord, step: Exclude<Step, Unreadable>): boolean {
  return record.kind === step.kind && compareNames(record, step.name) === 0;
}

function compareNames(record: CacheRecord, name: Uint8Array): number {
  if (record instanceof StoredRecord) return record.compareName(name);
  return Buffer.compare(record.name, name);
}
