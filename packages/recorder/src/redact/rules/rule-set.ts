import { type Action, hashedText, MASK, truncatedText } from "./actions.ts";
import type { CheckedDefaults, CheckedRule } from "./check.ts";
import {
  API_KEY_HEADERS,
  AUTHORIZATION_HEADERS,
  COOKIE_HEADERS,
  SECRET_HEADERS,
  SECRET_MEMBERS,
  SIGNING_PARAMETERS,
} from "./defaults.ts";
import { earlier, normalizedName, NOT_COVERED, type RankedPattern, rankedNames } from "./names.ts";
import { pathAutomaton, type Paths } from "./paths.ts";

/** How a header is redacted if no rule covers it. */
export type HeaderDefault = "authorization" | "cookie" | undefined;

/** The rules that hold for an exchange, compiled. Ranks are those of `apply`. */
export interface RuleSet {
  readonly defaults: CheckedDefaults;
  readonly paths: Paths;
  /** The rule for a header of this normalized name, or `NOT_COVERED`. */
  header(name: string): number;
  headerDefault(name: string): HeaderDefault;
  /** The rule for a member of this normalized name, whatever its path. */
  member(name: string): number;
  /** The rule for a parameter of a query or form, by its name as it was sent, decoded. */
  parameter(name: string): number;
  /**
   * What takes the place of a value that a rule covers.
   *
   * @param value if the rule keeps a part, without secrets that are recognized anywhere in text
   * @returns undefined to drop it
   */
  apply(rank: number, value: string): string | undefined;
  /** Whether a rule drops what it covers. */
  drops(rank: number): boolean;
  /** Whether a rule keeps a part of a text. It masks containers. */
  keepsPart(rank: number): boolean;
}

/** The default rule comes after all others. */
const DEFAULT_ACTION: Action = { kind: "mask" };

/** Parts of names. */
const NAMES = /[\p{L}\p{N}_.[\]-]+/gu;

/** Names repeat; exchanges may make up any number of them. */
const CACHED_NAMES_MAX = 1024;
const CACHED_NAME_MAX = 64;

export function compileRules(
  rules: readonly CheckedRule[],
  defaults: CheckedDefaults,
  hashKey: Uint8Array,
): RuleSet {
  const actions = [...rules.map(({ action }) => action), DEFAULT_ACTION];
  const byDefault = rules.length;
  const ofDefault = (isOn: boolean, patterns: readonly string[]): RankedPattern[] =>
    isOn ? patterns.map((pattern) => ({ pattern, rank: byDefault })) : [];

  const headers: RankedPattern[] = [];
  const names: RankedPattern[] = [];
  const paths: { levels: readonly string[]; rank: number }[] = [];
  for (const [rank, { covers }] of rules.entries()) {
    if (covers.kind === "path") paths.push({ levels: covers.levels, rank });
    else headers.push({ pattern: covers.pattern, rank });
    if (covers.kind === "name") names.push({ pattern: covers.pattern, rank });
  }
  const header = rankedNames([
    ...headers,
    ...ofDefault(defaults.apiKeys, API_KEY_HEADERS),
    ...ofDefault(defaults.names, SECRET_HEADERS),
  ]);
  const ownHeader = rankedNames(headers);
  names.push(...ofDefault(defaults.names, SECRET_MEMBERS));
  const member = rankedNames(names);
  const lone = rankedNames([...names, ...ofDefault(defaults.signedUrls, SIGNING_PARAMETERS)]);
  const authorization = rankedNames(ofDefault(true, AUTHORIZATION_HEADERS));
  const cookie = rankedNames(ofDefault(true, COOKIE_HEADERS));
  const automaton = pathAutomaton(paths);

  const isAuthorization = (name: string) => authorization(name) !== NOT_COVERED;
  const isCookie = (name: string) => cookie(name) !== NOT_COVERED;

  /**
   * `user[name]` and `user.name` are the same path; a rule for `user` covers both. Of `user:name` and
   * `/path?name`, the last part is a name, too.
   */
  const findParameter = (name: string): number => {
    const whole = normalizedName(name);
    let rank = lone(whole);
    let state = automaton.start;
    if (whole === name) return earlier(rank, automaton.step(state, automaton.literal(name)).rank);
    for (const level of name.split(/[.[\]]+/u)) {
      const normal = normalizedName(level);
      if (normal === "") continue;
      if (normal !== whole) rank = earlier(rank, member(normal));
      state = automaton.step(state, automaton.literal(normal));
      rank = earlier(rank, state.rank);
    }
    // Text has no other end of what comes before a name.
    const last = normalizedName(name.match(NAMES)?.at(-1) ?? "");
    return last === whole ? rank : earlier(rank, lone(last));
  };
  const parameters = new Map<string, number>();
  const parameter = (name: string): number => {
    const known = parameters.get(name);
    if (known !== undefined) return known;
    const rank = findParameter(name);
    if (name.length > CACHED_NAME_MAX) return rank;
    if (parameters.size >= CACHED_NAMES_MAX) parameters.clear();
    parameters.set(name, rank);
    return rank;
  };

  return {
    defaults,
    paths: automaton,
    header(name) {
      // Their defaults keep a part, and may be turned off.
      return isAuthorization(name) || isCookie(name) ? ownHeader(name) : header(name);
    },
    headerDefault(name) {
      if (isAuthorization(name)) return defaults.authorization ? "authorization" : undefined;
      return isCookie(name) ? "cookie" : undefined;
    },
    member,
    parameter,
    apply(rank, value) {
      const action = actions[rank]!;
      switch (action.kind) {
        case "drop":
          return undefined;
        case "mask":
          return MASK;
        case "hash":
          return hashedText(value, hashKey);
        case "replace":
          return action.text;
        case "truncate":
          return truncatedText(value, action.length);
        default:
          return action satisfies never;
      }
    },
    drops: (rank) => actions[rank]!.kind === "drop",
    keepsPart: (rank) => actions[rank]!.kind === "truncate",
  };
}
