import type { Rule, Settings } from "../format/records/settings.ts";
import { StorageError } from "@idk/storage";
import type { Writer } from "../format/keys/writer.ts";

/** Lets a writer write to the chains that a pattern matches, also if its right to that has ended. */
export function allow(settings: Settings, rule: Omit<Rule, "lastGeneration">): Settings {
  return withRule(settings, { ...rule, lastGeneration: null });
}

/** Settings with a rule, in the place of those that grant the same with other last generations. */
function withRule(settings: Settings, rule: Rule): Settings {
  const at = settings.rules.findIndex((other) => grantsSame(other, rule));
  const others = settings.rules.filter((other) => !grantsSame(other, rule));
  return { ...settings, rules: others.toSpliced(at === -1 ? others.length : at, 0, rule) };
}

/** Whether two rules are the same but for their last generations. */
export function grantsSame(
  a: Omit<Rule, "lastGeneration">,
  b: Omit<Rule, "lastGeneration">,
): boolean {
  return a.writer === b.writer && a.pattern === b.pattern && a.mayForget === b.mayForget;
}

/**
 * Settings without a writer's rights behind a generation, as `revokeWriter` changes them.
 *
 * @throws StorageError `usage` if it has none
 */
export function revoke(settings: Settings, writer: Writer, lastGeneration: number): Settings {
  const rules = settings.rules.map((rule): Rule => {
    if (rule.writer !== writer) return rule;
    const last = Math.min(rule.lastGeneration ?? Infinity, lastGeneration);
    return Object.assign({}, rule, { lastGeneration: last });
  });
  if (!settings.rules.some((rule) => rule.writer === writer)) {
    throw new StorageError("usage", `${writer} is not allowed anything in this repository`);
  }
  return { ...settings, rules };
}

/**
 * Closes the chains that a pattern matches: nobody writes to them any more, the owner neither. If it is
 * closed already, the earlier one of the last generations stays.
 */
export function close(settings: Settings, pattern: string, lastGeneration: number): Settings {
  const rule = { writer: null, pattern, mayForget: false, lastGeneration };
  const ends = settings.rules.flatMap((other) =>
    grantsSame(other, rule) ? (other.lastGeneration ?? []) : [],
  );
  return withRule(settings, { ...rule, lastGeneration: Math.min(lastGeneration, ...ends) });
}
