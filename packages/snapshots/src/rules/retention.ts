import { StorageError } from "@idk/storage";

/** Which snapshots of a chain to keep. Each rule keeps some; what none keeps can be forgotten. */
export interface RetentionPolicy {
  /** The newest so many snapshots. */
  readonly last?: number;
  /** Of the newest so many hours, days and so on that have any, the first snapshot. */
  readonly hourly?: number;
  readonly daily?: number;
  readonly weekly?: number;
  readonly monthly?: number;
  readonly yearly?: number;
  /** All that are at most this much older than the newest snapshot. */
  readonly within?: Span;
  /** All that have each tag of one of these lists. */
  readonly tags?: readonly (readonly string[])[];
}

/** A span of calendar time. */
export interface Span {
  readonly years?: number;
  readonly months?: number;
  readonly days?: number;
  readonly hours?: number;
}

/** What the policy looks at in a snapshot. */
export interface DatedSnapshot {
  /** The store's time of the head, in milliseconds. */
  readonly storedAt: number;
  /** The time that the head has, in milliseconds. */
  readonly time: number;
  readonly tags: readonly string[];
}

/** Why a snapshot is kept; none means that it can be forgotten. */
export type Reason =
  | "last"
  | "hourly"
  | "daily"
  | "weekly"
  | "monthly"
  | "yearly"
  | "within"
  | "tag"
  /** It is the newest of its chain. */
  | "newest"
  /** The head's time is over a day off the store's, as in a copied store. */
  | "time differs";

export interface Decision<T> {
  readonly snapshot: T;
  /** In the order of the policy. */
  readonly reasons: readonly Reason[];
}

export interface RetentionOptions {
  /** Whose times the policy goes by: the store's by default, which no writer can make up. */
  readonly times?: "store" | "head";
  /** Whether the chain is closed, so that its newest can be forgotten, too. */
  readonly isClosed?: boolean;
}

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
/** 1970-01-01 was a Thursday, and weeks begin on Mondays (ISO 8601). */
const MONDAY = 3;

/** The periods of which the first snapshot is kept, as a number for each, in UTC. */
const PERIODS = {
  hourly: (time: number) => Math.floor(time / HOUR),
  daily: (time: number) => Math.floor(time / DAY),
  weekly: (time: number) => Math.floor((Math.floor(time / DAY) + MONDAY) / 7),
  monthly: (time: number) => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth(),
  yearly: (time: number) => new Date(time).getUTCFullYear(),
} as const;

/**
 * Decides which snapshots of one chain to keep. The first of each period is kept, not the last, because
 * a thief of a writer's key can add snapshots but not put them before others.
 *
 * @param snapshots of one chain that are not forgotten, newest first in the order of markers
 * @returns a decision for each, in the same order
 * @throws StorageError `usage` if the policy has no rule, or a number that is not a count
 */
export function decideRetention<T extends DatedSnapshot>(
  snapshots: readonly T[],
  policy: RetentionPolicy,
  { times = "store", isClosed = false }: RetentionOptions = {},
): Decision<T>[] {
  checkPolicy(policy);
  const timeOf = ({ storedAt, time }: T) => (times === "store" ? storedAt : time);
  const reasons = new Map<T, Reason[]>(snapshots.map((snapshot) => [snapshot, []]));
  const keep = (snapshot: T, reason: Reason) => reasons.get(snapshot)?.push(reason);

  const [newest] = snapshots;
  if (newest !== undefined && !isClosed) keep(newest, "newest");
  const datable: T[] = [];
  for (const snapshot of snapshots) {
    const differs = Math.abs(snapshot.time - snapshot.storedAt) > DAY;
    // Kept whatever the rules say, so it does not take the place of another in a period.
    if (times === "store" && differs) keep(snapshot, "time differs");
    else datable.push(snapshot);
  }
  // Newest first by the times that the policy goes by; of equal ones, in the order of markers.
  datable.sort((a, b) => timeOf(b) - timeOf(a));

  for (const snapshot of datable.slice(0, policy.last ?? 0)) keep(snapshot, "last");
  for (const period of Object.keys(PERIODS) as (keyof typeof PERIODS)[]) {
    for (const first of firstOfEach(datable, policy[period] ?? 0, (snapshot) =>
      PERIODS[period](timeOf(snapshot)),
    )) {
      keep(first, period);
    }
  }
  const [latest] = datable;
  if (policy.within !== undefined && latest !== undefined) {
    const from = before(timeOf(latest), policy.within);
    for (const snapshot of datable) if (timeOf(snapshot) >= from) keep(snapshot, "within");
  }
  for (const snapshot of snapshots) {
    const lists = policy.tags ?? [];
    if (lists.some((list) => list.every((tag) => snapshot.tags.includes(tag)))) {
      keep(snapshot, "tag");
    }
  }
  return snapshots.map((snapshot) => ({ snapshot, reasons: reasons.get(snapshot) ?? [] }));
}

/** The oldest of each of the newest `count` periods that have any. */
function firstOfEach<T>(
  newestFirst: readonly T[],
  count: number,
  period: (item: T) => number,
): T[] {
  const first = new Map<number, T>();
  for (const item of newestFirst) {
    const key = period(item);
    if (!first.has(key) && first.size >= count) break;
    first.set(key, item);
  }
  return [...first.values()];
}

/** A time so much earlier. A day that its month does not have becomes the month's last. */
function before(time: number, { years = 0, months = 0, days = 0, hours = 0 }: Span): number {
  const date = new Date(time);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months - 12 * years);
  const daysInMonth = new Date(
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0),
  ).getUTCDate();
  date.setUTCDate(Math.min(day, daysInMonth));
  const result = date.getTime() - days * DAY - hours * HOUR;
  // Longer than there have been times: everything is within.
  return Number.isNaN(result) ? -Infinity : result;
}

const COUNTS = ["last", "hourly", "daily", "weekly", "monthly", "yearly"] as const;

function checkPolicy(policy: RetentionPolicy): void {
  const isCount = (value: number) =>
    value === Infinity || (Number.isSafeInteger(value) && value >= 0);
  for (const key of COUNTS) {
    const value = policy[key];
    if (value !== undefined && !isCount(value)) {
      throw new StorageError(
        "usage",
        `the number of ${key} snapshots to keep must be a whole number`,
      );
    }
  }
  const span = Object.values(policy.within ?? {});
  if (!span.every((value) => isCount(value as number))) {
    throw new StorageError(
      "usage",
      "the time within which to keep snapshots must be whole numbers",
    );
  }
  if (policy.tags?.some((list) => list.length === 0) === true) {
    throw new StorageError("usage", "a tag to keep is missing");
  }
  const keepsSome =
    COUNTS.some((key) => (policy[key] ?? 0) > 0) || span.some((value) => (value as number) > 0);
  if (!keepsSome && (policy.tags ?? []).length === 0) {
    throw new StorageError(
      "usage",
      "the policy keeps nothing: give at least one rule, such as last: 7",
    );
  }
}
