import type { RedactorOptions, Redactor, RedactRule } from "./contract.ts";
import { redactBody } from "./bodies/body.ts";
import { redactValue } from "./json/redact-json.ts";
import { type CheckedRule, checkOptions, checkRules } from "./rules/check.ts";
import { patternMatcher } from "../record/pattern.ts";
import { compileRules, type RuleSet } from "./rules/rule-set.ts";
import { redactHeaders } from "./values/headers.ts";
import { pathOf, redactRoute, redactUrl } from "./values/url.ts";

/** Routes choose subsets of the rules; of those, this many are kept compiled. */
const SETS_MAX = 256;

/**
 * Makes a redactor of rules, which are data.
 *
 * @throws StorageError `usage` if a rule or an option is wrong
 */
export function createRedactor(rules: readonly RedactRule[], options: RedactorOptions): Redactor {
  const checked = checkRules(rules);
  const { hashKey, defaults, ...limits } = checkOptions(options);
  // Rules of the same route are on together.
  const routes = [...new Set(checked.flatMap(({ route }) => route ?? []))];
  const matchers = routes.map(patternMatcher);
  const sets = new Map<string, RuleSet>();

  /** @param key for each of `routes`, `1` if it matches */
  const setOf = (key: string): RuleSet => {
    const known = sets.get(key);
    if (known !== undefined) return known;
    if (sets.size >= SETS_MAX) sets.clear();
    const isOn = ({ route }: CheckedRule): boolean =>
      route === undefined || key[routes.indexOf(route)] === "1";
    const made = compileRules(checked.filter(isOn), defaults, hashKey);
    sets.set(key, made);
    return made;
  };
  const setFor = (url: string, route: string | undefined): RuleSet => {
    if (matchers.length === 0) return setOf("");
    // Frameworks match paths regardless of case.
    const path = pathOf(url).toLowerCase();
    const other = route?.toLowerCase();
    let key = "";
    for (const matches of matchers) {
      key += matches(path) || (other !== undefined && matches(other)) ? "1" : "0";
    }
    return setOf(key);
  };

  return {
    for({ url, route }) {
      const set = setFor(url, route);
      return {
        url: () => redactUrl(url, set),
        route: () => redactRoute(route, set),
        headers: (list) => redactHeaders(list, set),
        text: (text) => redactValue(text, false, set),
        body: (body) => redactBody(body, set, limits),
      };
    },
  };
}
