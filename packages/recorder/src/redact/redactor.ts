import type { RedactorOptions, Redactor, RedactRule } from "./contract.ts";
import { redactBody } from "./bodies/body.ts";
import { redactValue } from "./json/redact-json.ts";
import { checkOptions, checkRules } from "./rules/check.ts";
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
  const hasRoutes = checked.some(({ route }) => route !== undefined);
  const routes = checked.map(({ route }) =>
    route === undefined ? undefined : patternMatcher(route),
  );
  const sets = new Map<string, RuleSet>();

  const setOf = (key: string, isOn: (index: number) => boolean): RuleSet => {
    const known = sets.get(key);
    if (known !== undefined) return known;
    if (sets.size >= SETS_MAX) sets.clear();
    const made = compileRules(
      checked.filter((_, index) => isOn(index)),
      defaults,
      hashKey,
    );
    sets.set(key, made);
    return made;
  };
  const setFor = (url: string, route: string | undefined): RuleSet => {
    if (!hasRoutes) return setOf("", () => true);
    // Frameworks match paths regardless of case.
    const places = [
      pathOf(url).toLowerCase(),
      ...(route === undefined ? [] : [route.toLowerCase()]),
    ];
    const isOn = routes.map((matches) => matches === undefined || places.some(matches));
    return setOf(isOn.map(Number).join(""), (index) => isOn[index]!);
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
