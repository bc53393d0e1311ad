import type { Header } from "../../record/exchange.ts";
import type { Work } from "../contract.ts";
import { appliedRule, redactValue } from "../json/redact-json.ts";
import { MASK } from "../rules/actions.ts";
import { AUTHORIZATION_SCHEMES, COOKIE_ATTRIBUTES } from "../rules/defaults.ts";
import { normalizedName, NOT_COVERED } from "../rules/names.ts";
import type { HeaderDefault, RuleSet } from "../rules/rule-set.ts";
import { PARAMETER_NAME_MAX } from "./parameters.ts";
import { isSuspicious, redactShortText } from "./text.ts";
import { TOKEN_STARTS } from "./web-tokens.ts";

/** What the rules say about headers of one name. */
interface HeaderRules {
  /** The name as it is recorded. */
  readonly shown: string;
  readonly rank: number;
  readonly byDefault: HeaderDefault;
}

/** Headers, or cookies, of a step: about 0.1 ms. */
const STEP = 32;

/** Names repeat; clients may make up any number of them. */
const CACHED_MAX = 256;

const caches = new WeakMap<RuleSet, Map<string, HeaderRules>>();

/** Redacts the values of headers; names stay, unless they are secrets themselves. */
export function* redactHeaders(headers: readonly Header[], rules: RuleSet): Work<Header[]> {
  const redacted: Header[] = [];
  let count = 0;
  for (const header of headers) {
    count += 1;
    if (count % STEP === 0) yield;
    const [name, value] = header;
    const { shown, rank, byDefault } = rulesOf(name, rules);
    let by: string | undefined = value;
    if (rank !== NOT_COVERED) by = yield* appliedRule(rank, value, rules);
    else if (byDefault === "authorization") by = maskedCredentials(value);
    else if (byDefault === "cookie") by = yield* redactCookieHeader(name, value, rules);
    else if (isSuspicious(value)) by = yield* redactValue(value, false, rules);
    if (by === undefined) continue;
    redacted.push(by === value && shown === name ? header : [shown, by]);
  }
  return redacted;
}

/** @returns undefined to drop it */
function redactCookieHeader(name: string, value: string, rules: RuleSet): Work<string | undefined> {
  return normalizedName(name).startsWith("set")
    ? redactSetCookie(value, rules)
    : redactCookies(value, rules);
}

function rulesOf(name: string, rules: RuleSet): HeaderRules {
  let cache = caches.get(rules);
  if (cache === undefined) {
    cache = new Map();
    caches.set(rules, cache);
  }
  const known = cache.get(name);
  if (known !== undefined) return known;
  if (cache.size >= CACHED_MAX) cache.clear();
  const normal = normalizedName(name);
  const shown = isSecret(name, rules) ? MASK : name;
  const found = { shown, rank: rules.header(normal), byDefault: rules.headerDefault(normal) };
  cache.set(name, found);
  return found;
}

/** Beginnings of JSON Web Tokens, as `TOKEN_STARTS`, in any case. */
const ANY_CASE_TOKEN_STARTS = /e(?:y[ja]|w[o0k])/giu;

/** Whether a name is a secret itself, also after its letters became lower case on the way. */
function isSecret(name: string, rules: RuleSet): boolean {
  const cased = name.replaceAll(ANY_CASE_TOKEN_STARTS, TOKEN_STARTS[0]);
  return redactShortText(cased, rules) !== cased;
}

/** `Basic ***`. What comes before the first space is kept only if it is a scheme. */
function maskedCredentials(value: string): string {
  const [scheme = "", ...rest] = value.trim().split(" ");
  const isScheme = rest.length > 0 && AUTHORIZATION_SCHEMES.has(scheme.toLowerCase());
  return isScheme ? `${scheme} ${MASK}` : MASK;
}

/** `a=***; b=***` */
function* redactCookies(value: string, rules: RuleSet): Work<string> {
  const kept: string[] = [];
  let count = 0;
  for (const part of value.split(";")) {
    count += 1;
    if (count % STEP === 0) yield;
    const cookie = yield* redactCookie(part.trim(), rules);
    if (cookie !== undefined) kept.push(cookie);
  }
  return kept.join("; ");
}

/** `a=***; Path=/; Secure` */
function* redactSetCookie(value: string, rules: RuleSet): Work<string | undefined> {
  const [first = "", ...attributes] = value.split(";");
  const cookie = yield* redactCookie(first.trim(), rules);
  if (cookie === undefined) return undefined;
  const kept = [cookie];
  for (const [index, part] of attributes.entries()) {
    if (index % STEP === STEP - 1) yield;
    const [name = "", ...rest] = part.trim().split("=");
    const value = rest.join("=");
    // Anything else may be the value of another cookie: some join headers with commas.
    if (!COOKIE_ATTRIBUTES.get(name.toLowerCase())?.test(value)) kept.push(MASK);
    else if (rest.length === 0) kept.push(name);
    else kept.push(`${name}=${yield* redactValue(value, false, rules)}`);
  }
  return kept.join("; ");
}

/** @returns undefined to drop it */
function* redactCookie(part: string, rules: RuleSet): Work<string | undefined> {
  const equals = part.indexOf("=");
  const { cookies } = rules.defaults;
  if (equals === -1) {
    if (part === "") return part;
    return cookies ? MASK : yield* redactValue(part, false, rules);
  }
  const name = part.slice(0, equals);
  if (name.length > PARAMETER_NAME_MAX) return `${MASK}=${MASK}`;
  const shownName = redactShortText(name, rules) === name ? name : MASK;
  const value = part.slice(equals + 1);
  const rank = rules.parameter(name);
  if (rank !== NOT_COVERED) {
    const by = yield* appliedRule(rank, value, rules);
    return by === undefined ? undefined : `${shownName}=${by}`;
  }
  return `${shownName}=${cookies ? MASK : yield* redactValue(value, false, rules)}`;
}
