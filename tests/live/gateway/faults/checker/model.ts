import type { Call, Model } from "./linearizable.ts";
import { findOrder } from "./linearizable.ts";

/** ETags by key. A key that is not in it has no object. */
export type Objects = ReadonlyMap<string, string>;

/** The condition of a write: `*` for If-None-Match, or the ETag of If-Match. */
export type WriteCondition = { readonly ifNoneMatch: "*" } | { readonly ifMatch: string };

/** What came of a write. `unknown`: no answer, or one that leaves it open. */
export type WriteOutcome = "done" | "condition-failed" | "no-object" | "unknown";

/** A request, with what its client was told. Each takes effect at one moment, or not at all. */
export type Operation =
  | {
      /** PutObject, CompleteMultipartUpload, and CopyObject, which has read its source before. */
      readonly kind: "put";
      readonly key: string;
      readonly etag: string;
      readonly condition?: WriteCondition | undefined;
      readonly outcome: WriteOutcome;
    }
  | {
      readonly kind: "delete";
      readonly key: string;
      readonly ifMatch?: string | undefined;
      readonly outcome: WriteOutcome;
    }
  | {
      /** GetObject, HeadObject. */
      readonly kind: "read";
      readonly key: string;
      /** Undefined if there was no object. */
      readonly etag: string | undefined;
    }
  | {
      /** All keys with a prefix, in one page. */
      readonly kind: "list";
      readonly prefix: string;
      readonly entries: Objects;
    };

const model: Model<Objects, Operation> = {
  name: (state) =>
    [...state]
      .map(([key, etag]) => `${key},${etag}`)
      .toSorted((a, b) => (a < b ? -1 : 1))
      .join(";"),
  changesNothing: (operation) =>
    operation.kind === "read" ||
    operation.kind === "list" ||
    !["done", "unknown"].includes(operation.outcome),
  isOptional: (operation) => "outcome" in operation && operation.outcome === "unknown",
  next: (state, operation) => {
    switch (operation.kind) {
      case "read":
        return state.get(operation.key) === operation.etag ? [state] : [];
      case "list":
        return isEqual(startingWith(state, operation.prefix), operation.entries) ? [state] : [];
      case "delete": {
        const { key, ifMatch, outcome } = operation;
        const condition = ifMatch === undefined ? undefined : { ifMatch };
        return written(state, key, undefined, condition, outcome);
      }
      case "put":
        return written(
          state,
          operation.key,
          operation.etag,
          operation.condition,
          operation.outcome,
        );
      default:
        return operation satisfies never;
    }
  },
};

/** @param etag what the key has afterwards, undefined for nothing */
function written(
  state: Objects,
  key: string,
  etag: string | undefined,
  condition: WriteCondition | undefined,
  outcome: WriteOutcome,
): readonly Objects[] {
  const actual = conditionOutcome(condition, state.get(key));
  if (outcome !== "unknown") {
    if (outcome !== actual) return [];
    return [actual === "done" ? withKey(state, key, etag) : state];
  }
  return actual === "done" ? [withKey(state, key, etag)] : [];
}

function conditionOutcome(
  condition: WriteCondition | undefined,
  present: string | undefined,
): Exclude<WriteOutcome, "unknown"> {
  if (condition === undefined) return "done";
  if ("ifNoneMatch" in condition) return present === undefined ? "done" : "condition-failed";
  if (present === undefined) return "no-object";
  return present === condition.ifMatch ? "done" : "condition-failed";
}

function withKey(state: Objects, key: string, etag: string | undefined): Objects {
  const changed = new Map(state);
  if (etag === undefined) changed.delete(key);
  else changed.set(key, etag);
  return changed;
}

function startingWith(state: Objects, prefix: string): Objects {
  return new Map([...state].filter(([key]) => key.startsWith(prefix)));
}

function isEqual(a: Objects, b: Objects): boolean {
  return a.size === b.size && [...a].every(([key, etag]) => b.get(key) === etag);
}

/**
 * Why a history is not one of S3, or undefined if it is. Keys that no listing connects are checked each
 * by itself.
 *
 * @param initial what there is before the first request
 */
export function violationOf(
  history: readonly Call<Operation>[],
  initial: Objects = new Map(),
): string | undefined {
  for (const { keys, calls } of components(history, initial)) {
    const start = new Map([...initial].filter(([key]) => keys.has(key)));
    // A write whose outcome nobody saw most often did not happen, and would be tried everywhere.
    if (findOrder(model, start, withoutUnseen(calls)).isLinearizable) continue;
    const { isLinearizable, stuck, state } = findOrder(model, start, calls);
    if (isLinearizable) continue;
    const lines = [
      `no order of ${calls.length} requests explains their outcomes; at last there was ${model.name(state) || "nothing"}, and none of these could be next:`,
      ...stuck.map(lineOf),
      "the requests of these keys before:",
      ...calls
        .filter(({ start: at }) => at <= Math.max(...stuck.map(({ end }) => end)))
        .map(lineOf),
    ];
    return lines.join("\n");
  }
  return undefined;
}

/** Without writes that had no answer, of content that nobody has seen. */
function withoutUnseen(calls: readonly Call<Operation>[]): readonly Call<Operation>[] {
  const seen = new Set(
    calls.flatMap(({ operation }) => {
      if (operation.kind === "read") return operation.etag === undefined ? [] : [operation.etag];
      return operation.kind === "list" ? [...operation.entries.values()] : [];
    }),
  );
  return calls.filter(
    ({ operation }) =>
      operation.kind !== "put" || operation.outcome !== "unknown" || seen.has(operation.etag),
  );
}

function lineOf({ operation, start, end }: Call<Operation>): string {
  const shown = JSON.stringify(operation, (_, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value,
  );
  return `  ${start.toFixed(1)} to ${end.toFixed(1)}: ${shown}`;
}

interface Component {
  readonly keys: ReadonlySet<string>;
  readonly calls: readonly Call<Operation>[];
}

/** Groups of keys that requests connect, with their requests. */
function components(history: readonly Call<Operation>[], initial: Objects): readonly Component[] {
  const keys = new Set(initial.keys());
  for (const { operation } of history) for (const key of namedKeys(operation)) keys.add(key);
  const parent = new Map([...keys].map((key) => [key, key]));
  const rootOf = (key: string): string => {
    const above = parent.get(key)!;
    return above === key ? key : rootOf(above);
  };
  const connected = ({ operation }: Call<Operation>): readonly string[] =>
    operation.kind === "list"
      ? [...keys].filter((key) => key.startsWith(operation.prefix))
      : namedKeys(operation);
  for (const call of history) {
    const [first, ...others] = connected(call);
    for (const other of others) parent.set(rootOf(other), rootOf(first!));
  }
  const groups = new Map<string, { keys: Set<string>; calls: Call<Operation>[] }>();
  for (const key of keys) {
    const root = rootOf(key);
    const group = groups.get(root) ?? { keys: new Set(), calls: [] };
    group.keys.add(key);
    groups.set(root, group);
  }
  for (const call of history) {
    const [first] = connected(call);
    if (first !== undefined) groups.get(rootOf(first))!.calls.push(call);
  }
  return [...groups.values()];
}

function namedKeys(operation: Operation): readonly string[] {
  return operation.kind === "list" ? [...operation.entries.keys()] : [operation.key];
}
