import { StorageError } from "@idk/storage";
import { foreignText } from "@idk/storage/text";
import type { RedactDefaults, RedactRule, RedactorOptions } from "../contract.ts";
import type { Action } from "./actions.ts";
import { normalizedName, normalizedPattern } from "./names.ts";
import type { PathLevel } from "./paths.ts";

/** A rule that was checked. */
export interface CheckedRule {
  readonly covers:
    | { readonly kind: "header" | "name"; readonly pattern: string }
    | { readonly kind: "path"; readonly levels: readonly PathLevel[] };
  /** A pattern in lower case; undefined for all exchanges. */
  readonly route: string | undefined;
  readonly action: Action;
}

const RULES_MAX = 1000;
const TEXT_MAX = 500;
const LEVELS_MAX = 32;
const TRUNCATE_MAX = 65_536;
const HASH_KEY_MIN = 32;

const KEYS = ["header", "name", "path", "route", "action", "with", "length"];
const ACTIONS = ["drop", "mask", "hash", "replace", "truncate"] as const;
const DEFAULTS = [
  "authorization",
  "cookies",
  "apiKeys",
  "names",
  "userinfo",
  "signedUrls",
  "jwts",
  "cardNumbers",
] as const satisfies readonly (keyof RedactDefaults)[];

/** @throws StorageError `usage` */
export function checkRules(rules: unknown): CheckedRule[] {
  if (!Array.isArray(rules)) throw usage("redact must be a list of rules");
  if (rules.length > RULES_MAX)
    throw usage(`redact has ${rules.length} rules, at most ${RULES_MAX}`);
  return rules.map((rule: unknown, index) => checkRule(rule, `redact[${index}]`));
}

function checkRule(given: unknown, at: string): CheckedRule {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw usage(`${at} must be a rule such as { name: "email", action: "hash" }`);
  }
  checkKeys(given, KEYS, at);
  const rule = given as RedactRule;
  const covers = (["header", "name", "path"] as const).filter((key) => rule[key] !== undefined);
  const [kind] = covers;
  if (kind === undefined || covers.length > 1) {
    throw usage(`${at} must have exactly one of header, name and path, got ${covers.length}`);
  }
  const text = checkText(rule[kind], `${at}.${kind}`);
  const route = rule.route === undefined ? undefined : checkText(rule.route, `${at}.route`);
  return {
    covers:
      kind === "path"
        ? { kind, levels: checkPath(text, `${at}.path`) }
        : { kind, pattern: checkName(text, `${at}.${kind}`) },
    route: route?.toLowerCase(),
    action: checkAction(rule, at),
  };
}

function checkText(text: unknown, at: string): string {
  if (typeof text !== "string" || text === "")
    throw usage(`${at} must be a text that is not empty`);
  if (text.length > TEXT_MAX) throw usage(`${at} must have at most ${TEXT_MAX} characters`);
  return text;
}

function checkName(name: string, at: string): string {
  const pattern = normalizedPattern(name);
  if (pattern === "") throw usage(`${at} needs a letter, a digit or *`);
  return pattern;
}

function checkPath(path: string, at: string): PathLevel[] {
  const levels = path.split(".").map((level) => {
    if (level === "*" || level === "**") return level;
    if (level.includes("*")) throw usage(`${at} can have * or ** only as a whole level`);
    const name = normalizedName(level);
    if (name === "") throw usage(`${at} must be names, * or **, separated by single dots`);
    return name;
  });
  if (levels.length > LEVELS_MAX) throw usage(`${at} must have at most ${LEVELS_MAX} levels`);
  return levels;
}

function checkAction(rule: RedactRule, at: string): Action {
  const { action, with: text, length } = rule;
  if (!ACTIONS.includes(action)) throw usage(`${at}.action must be ${oneOf(ACTIONS)}`);
  if (text !== undefined && action !== "replace") {
    throw usage(`${at}.with needs the action replace`);
  }
  if (length !== undefined && action !== "truncate") {
    throw usage(`${at}.length needs the action truncate`);
  }
  switch (action) {
    case "replace":
      if (typeof text !== "string" || !text.isWellFormed() || text.length > TEXT_MAX) {
        throw usage(`${at}.with must be a text of at most ${TEXT_MAX} characters`);
      }
      // A header cannot have them, and lines of text bodies would be split.
      // oxlint-disable-next-line no-control-regex
      if (/[\u0000-\u001f\u007f]/u.test(text)) {
        throw usage(`${at}.with must not have control characters`);
      }
      return { kind: action, text };
    case "truncate":
      if (!Number.isSafeInteger(length) || length! < 0 || length! > TRUNCATE_MAX) {
        throw usage(`${at}.length must be an integer from 0 to ${TRUNCATE_MAX}`);
      }
      return { kind: action, length: length! };
    case "drop":
    case "hash":
    case "mask":
      return { kind: action };
    default:
      return action satisfies never;
  }
}

/** The defaults that are on. */
export type CheckedDefaults = Readonly<Record<keyof RedactDefaults, boolean>>;

/** Options that were checked. */
export interface CheckedOptions {
  readonly hashKey: Uint8Array;
  readonly defaults: CheckedDefaults;
  readonly binaryTypes: readonly string[];
  readonly maxDecodedBytes: number;
}

/** @throws StorageError `usage` */
export function checkOptions(options: RedactorOptions): CheckedOptions {
  const { hashKey, defaults = {}, binaryTypes = [], maxDecodedBytes } = options;
  if (!(hashKey instanceof Uint8Array) || hashKey.length < HASH_KEY_MIN) {
    throw usage(`hashKey must be a Uint8Array of at least ${HASH_KEY_MIN} bytes`);
  }
  if (!Number.isSafeInteger(maxDecodedBytes) || maxDecodedBytes < 0) {
    throw usage("the limit for bodies must be an integer, 0 or more");
  }
  return {
    // A copy, because the caller may clear its own.
    hashKey: new Uint8Array(hashKey),
    defaults: checkDefaults(defaults),
    binaryTypes: checkTypes(binaryTypes),
    maxDecodedBytes,
  };
}

function checkDefaults(defaults: unknown): CheckedDefaults {
  if (typeof defaults !== "object" || defaults === null) {
    throw usage("redactDefaults must be an object such as { cookies: false }");
  }
  checkKeys(defaults, DEFAULTS, "redactDefaults");
  const given = defaults as RedactDefaults;
  const entries = DEFAULTS.map((name) => {
    const value: unknown = given[name] ?? true;
    if (typeof value !== "boolean") throw usage(`redactDefaults.${name} must be true or false`);
    return [name, value] as const;
  });
  return Object.fromEntries(entries) as Record<(typeof DEFAULTS)[number], boolean>;
}

const MEDIA_RANGE = /^[a-z0-9!#$&^_.+-]+\/(?:\*|[a-z0-9!#$&^_.+-]+)$/u;

function checkTypes(types: unknown): string[] {
  if (!Array.isArray(types)) throw usage('binaryTypes must be a list such as ["image/*"]');
  return types.map((given: unknown, index) => {
    const type = typeof given === "string" ? given.toLowerCase() : "";
    if (MEDIA_RANGE.test(type)) return type;
    throw usage(`binaryTypes[${index}] must be a media type such as image/png or image/*`);
  });
}

function checkKeys(given: object, known: readonly string[], at: string): void {
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    throw usage(`${at} has an unknown key "${foreignText(key, 40)}"; keys are ${known.join(", ")}`);
  }
}

function oneOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function usage(message: string): StorageError {
  return new StorageError("usage", message);
}
