import type { Work } from "../contract.ts";
import { redactValue } from "../json/redact-json.ts";
import { MASK } from "../rules/actions.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { redactParameters } from "./parameters.ts";
import { redactText } from "./text.ts";

/** Redacts a path with a query, or a whole URL, or any other text in its place. */
export function* redactUrl(url: string, rules: RuleSet): Work<string> {
  // Most have none of what the parts are separated by.
  if (!/[?#]/u.test(url)) return yield* redactText(url, false, rules);
  const [beforeFragment, fragment] = splitAt(url, "#");
  const [path, query] = splitAt(beforeFragment, "?");
  let redacted = yield* redactText(path, false, rules);
  if (query !== undefined) redacted += `?${yield* redactParameters(query, false, rules)}`;
  if (fragment !== undefined) redacted += `#${yield* redactFragment(fragment, rules)}`;
  return redacted;
}

/** Redacts a route, as the path of a URL: that is what some frameworks give. */
export function* redactRoute(route: string | undefined, rules: RuleSet): Work<string | undefined> {
  return route === undefined ? undefined : yield* redactText(route, false, rules);
}

/** The decoded path of a URL, for patterns of routes; the text itself if it does not decode. */
export function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/iu, "").replace(/[?#].*$/su, "");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Some send parameters in it, such as `access_token`. */
function* redactFragment(fragment: string, rules: RuleSet): Work<string> {
  if (fragment.includes("=")) return yield* redactParameters(fragment, false, rules);
  return (yield* redactValue(fragment, false, rules)) === fragment ? fragment : MASK;
}

function splitAt(text: string, mark: string): [before: string, after: string | undefined] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
