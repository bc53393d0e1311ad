import type { Rule, Settings } from "../format/records/settings.ts";
import { type Lineage, lineageOf, tipsOf } from "./forks.ts";
import type { RepositoryHead } from "../format/records/head.ts";
import type { StoredHead } from "./counting.ts";
import { compareMarkers } from "../format/names/marker.ts";

/** A head of settings. */
export interface SettingsHead extends StoredHead {
  readonly head: RepositoryHead;
}

export function isSettingsHead(found: StoredHead): found is SettingsHead {
  return found.head.kind === "repo";
}

/** A rule without its last generation. */
type RuleOf = Omit<Rule, "lastGeneration">;

/** What one head has made of a rule. */
interface Change {
  readonly by: SettingsHead;
  /** The last generation, Infinity for none. Of a rule that is not there what `absent` gives. */
  readonly last: number;
}

/**
 * Joins settings that are apart from each other: the result has the changes of all of them, and does not
 * depend on who joins them or in which order. A head with this result, and with all of them before it, is
 * called a join.
 *
 * - The grace period is the longest.
 * - Of changes of a rule, those count that no other change of it comes after, and of these the strictest:
 *   the least last generation. A rule that is not there is the strictest for a key, and the least strict
 *   if it closes.
 * - A revocation also ends those rights of its key that it did not know of, at the same generation, unless a
 *   later head has given them again.
 *
 * A head changes a rule if it has another last generation than the head before it. A join changes only rules
 * that are stricter in it than in the result of its heads. So only a head that comes after the revocation of a
 * right can give it again, and a join cannot. If a head before another is gone, it is not known what the other
 * changed: it is taken to change all rules.
 *
 * @param lineage of all settings that count
 * @param tips those to join, at least one, newest first
 * @returns those of a single one as they are. The order of the rules, which means nothing, is that of the
 *   newest first
 */
export function joinSettings(
  lineage: Lineage<SettingsHead>,
  tips: readonly SettingsHead[],
): Settings {
  if (tips.length === 1) return tips[0]!.head.settings;
  const region = regionOf(lineage, tips);
  const rules = new Map(
    region.flatMap(({ head }) => head.settings.rules.map((rule) => [keyOf(rule), rule])),
  );
  const changes = changesIn(lineage, region, rules);
  const everything = new Set(region);
  const joined: Rule[] = [];
  for (const [key, { writer, pattern, mayForget }] of rules) {
    const last = changes.lastOf(key, everything);
    if (last === absent({ writer })) continue;
    const lastGeneration = last === Infinity ? null : last;
    joined.push({ writer, pattern, mayForget, lastGeneration });
  }
  const graceSeconds = Math.max(...region.map(({ head }) => head.settings.graceSeconds));
  return { graceSeconds, rules: joined };
}

/** Whether settings mean the same, in whatever order their rules are. */
export function areSame(a: Settings, b: Settings): boolean {
  const [ofA, ofB] = [lastsOf(a), lastsOf(b)];
  if (a.graceSeconds !== b.graceSeconds || ofA.size !== ofB.size) return false;
  return [...ofA].every(([key, last]) => ofB.get(key) === last);
}

/**
 * The settings that no later ones know, if what some of them changed is not in force.
 *
 * @param heads all that count of the chain of settings, newest first; others are passed over
 * @returns newest first; none if the newest have all changes
 */
export function settingsApart(heads: readonly StoredHead[]): readonly SettingsHead[] {
  const lineage = lineageOf(heads.filter(isSettingsHead));
  const tips = tipsOf(lineage);
  if (tips.length < 2) return [];
  const joined = joinSettings(lineage, tips);
  return tips.every(({ head }) => areSame(head.settings, joined)) ? [] : tips;
}

/**
 * The heads that decide what others give together: back to one that all of them come after, if there is one.
 *
 * @returns newest first
 */
function regionOf(
  { parentsOf }: Lineage<SettingsHead>,
  tips: readonly SettingsHead[],
): SettingsHead[] {
  const region: SettingsHead[] = [];
  const pending = new Set(tips);
  while (pending.size > 0) {
    const [newest] = [...pending].toSorted((a, b) => compareMarkers(a.marker, b.marker));
    region.push(newest!);
    pending.delete(newest!);
    // All others come after it.
    if (pending.size === 0) break;
    for (const parent of parentsOf(newest!)) pending.add(parent);
  }
  return region;
}

/**
 * What each head of a region has changed.
 *
 * @param region newest first
 * @param rules all that there are in it
 */
function changesIn(
  { parentsOf, missingOf }: Lineage<SettingsHead>,
  region: readonly SettingsHead[],
  rules: ReadonlyMap<string, RuleOf>,
) {
  const changes = new Map<string, Change[]>(Array.from(rules.keys(), (key) => [key, []]));
  /** Those that end a right of a key earlier, and leave the rule. */
  const revocations = new Map<Rule["writer"], Change[]>();
  /** Each head with those that it comes after. */
  const pasts = new Map<SettingsHead, ReadonlySet<SettingsHead>>();
  const isAfter = (a: SettingsHead, b: SettingsHead) => a !== b && pasts.get(a)!.has(b);

  /** The last generation of a rule by what was changed in a past. */
  const lastOf = (key: string, past: ReadonlySet<SettingsHead>): number => {
    const known = changes.get(key)!.filter(({ by }) => past.has(by));
    const newest = known.filter((one) => !known.some((other) => isAfter(other.by, one.by)));
    // A revocation of the key by a head apart also ends this right, unless a later head has given it again.
    const ends = (revocations.get(rules.get(key)!.writer) ?? []).filter(
      ({ by }) =>
        past.has(by) &&
        newest.every((one) => one.by !== by && !isAfter(one.by, by)) &&
        newest.some((one) => !isAfter(by, one.by)),
    );
    return Math.min(...[...newest, ...ends].map(({ last }) => last));
  };

  for (const head of region.toReversed()) {
    const parents = parentsOf(head).filter((parent) => pasts.has(parent));
    pasts.set(head, new Set([head, ...parents.flatMap((parent) => [...pasts.get(parent)!])]));
    const before = parents.filter((one) => !parents.some((other) => isAfter(other, one)));
    const isPastKnown = before.length > 0 && missingOf(head).length === 0;
    const own = lastsOf(head.head.settings);
    const theirs = before.length === 1 ? lastsOf(before[0]!.head.settings) : undefined;
    for (const [key, rule] of rules) {
      const last = own.get(key) ?? absent(rule);
      const was = theirs ? (theirs.get(key) ?? absent(rule)) : lastOf(key, pasts.get(head)!);
      const isChange = theirs ? last !== was : last < was;
      if (isPastKnown && !isChange) continue;
      const change = { by: head, last };
      changes.get(key)!.push(change);
      if (rule.writer === null || !isPastKnown || last >= was || last === absent(rule)) continue;
      revocations.set(rule.writer, [...(revocations.get(rule.writer) ?? []), change]);
    }
  }
  return { lastOf };
}

/** The last generation of each rule, Infinity for none. */
function lastsOf({ rules }: Settings): Map<string, number> {
  const lasts = new Map<string, number>();
  for (const rule of rules) {
    const key = keyOf(rule);
    const last = rule.lastGeneration ?? Infinity;
    const other = lasts.get(key) ?? last;
    // One of several is enough to let a key write, and one to close.
    lasts.set(key, rule.writer === null ? Math.min(last, other) : Math.max(last, other));
  }
  return lasts;
}

/** What a rule that is not there comes to: nothing is let in, or nothing is closed. */
function absent({ writer }: Pick<Rule, "writer">): number {
  return writer === null ? Infinity : -Infinity;
}

function keyOf({ writer, pattern, mayForget }: RuleOf): string {
  return JSON.stringify([writer, pattern, mayForget]);
}
