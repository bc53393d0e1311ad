import type {
  RestoreAction,
  RestoreCounts,
  RestoreEvent,
  RestoreOptions,
  RestoreSummary,
} from "./options.ts";
import type { Entry } from "../format/tree/entry.ts";
import { inPath } from "../read/paths.ts";
import { untilAborted } from "../read/aborted.ts";

/** Where an entry is: the folder it is in, whose path is put together only if someone asks. */
export interface Location {
  readonly parent: Location | undefined;
  readonly name: Uint8Array;
}

/** Counts what happens and passes it on. */
export interface Report {
  start(event: Omit<Extract<RestoreEvent, { kind: "start" }>, "kind">): void;
  entry(at: Location, type: Entry["type"], action: RestoreAction): void;
  written(bytes: number): void;
  deleted(at: Location): void;
  error(at: Location, error: unknown): void;
  warning(at: Location, message: string): void;
  /**
   * Waits for the listener, if it returned promises: perhaps for someone who reads what it prints.
   *
   * @throws what they are rejected with; StorageError `aborted`
   */
  settled(signal: AbortSignal | undefined): Promise<void> | undefined;
  /** Ends with the last event. */
  summary(): Omit<RestoreSummary, "snapshot">;
}

/** How many errors and warnings a summary has. */
const LIST_MAX = 1000;
const PROGRESS_MS = 100;

export function restoreReport(onEvent: RestoreOptions["onEvent"]): Report {
  const started = performance.now();
  const counts = {
    files: 0,
    directories: 0,
    bytes: 0,
    unchanged: 0,
    kept: 0,
    skipped: 0,
    deleted: 0,
    errors: 0,
    warnings: 0,
  } satisfies RestoreCounts;
  const errorList: { path: Uint8Array; error: Error }[] = [];
  const warningList: { path: Uint8Array; message: string }[] = [];
  let lastProgress = started;
  let listening: Promise<unknown>[] = [];
  const emit = (event: RestoreEvent): void => {
    const taken: unknown = onEvent?.(event);
    if (!(taken instanceof Promise)) return;
    listening.push(taken);
    // Awaited in `settled`; until then a rejection must not count as unhandled.
    taken.catch(() => undefined);
  };
  const progress = (): void => {
    if (onEvent === undefined) return;
    const now = performance.now();
    if (now - lastProgress < PROGRESS_MS) return;
    lastProgress = now;
    emit({ kind: "progress", counts: { ...counts } });
  };
  return {
    start: (event) => emit({ kind: "start", ...event }),
    entry(at, type, action) {
      if (action === "kept" || action === "skipped") counts[action] += 1;
      else if (type === "directory") counts.directories += 1;
      else counts.files += 1;
      if (action === "unchanged" && type !== "directory") counts.unchanged += 1;
      if (onEvent === undefined) return;
      emit({
        kind: "entry",
        // Most listeners only count.
        get path() {
          return pathOf(at);
        },
        type,
        action,
      });
      progress();
    },
    written(bytes) {
      counts.bytes += bytes;
      progress();
    },
    deleted(at) {
      counts.deleted += 1;
      emit({ kind: "deleted", path: pathOf(at) });
    },
    error(at, cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      counts.errors += 1;
      if (errorList.length >= LIST_MAX && onEvent === undefined) return;
      const path = pathOf(at);
      if (errorList.length < LIST_MAX) errorList.push({ path, error });
      emit({ kind: "error", path, error });
    },
    warning(at, message) {
      counts.warnings += 1;
      if (warningList.length >= LIST_MAX && onEvent === undefined) return;
      const path = pathOf(at);
      if (warningList.length < LIST_MAX) warningList.push({ path, message });
      emit({ kind: "warning", path, message });
    },
    settled(signal) {
      if (listening.length === 0) return undefined;
      const all = listening;
      listening = [];
      return untilAborted(Promise.all(all), signal);
    },
    summary() {
      emit({ kind: "progress", counts: { ...counts } });
      const milliseconds = Math.round(performance.now() - started);
      return { ...counts, errorList, warningList, milliseconds };
    },
  };
}

/** The path of an entry below the target. That of the target itself is empty. */
export function pathOf(at: Location): Uint8Array {
  const names: Uint8Array[] = [];
  for (let up: Location | undefined = at; up?.parent !== undefined; up = up.parent) {
    names.push(up.name);
  }
  let path: Uint8Array = new Uint8Array(0);
  if (names.length < 16) {
    for (const name of names.toReversed()) path = inPath(path, name);
    return path;
  }
  path = Buffer.concat(names.toReversed().flatMap((name) => [name, SLASH]));
  return path.subarray(0, -1);
}

const SLASH = Buffer.from("/");
