import type { RuleSet } from "../rules/rule-set.ts";
import { redactShortText } from "../values/text.ts";

/** How a body is read. */
export type BodyKind = "json" | "json-lines" | "events" | "form" | "text";

/** What a `Content-Type` says. */
export interface MediaType {
  /** In lower case, without parameters. */
  readonly essence: string;
  /** In lower case. */
  readonly charset: string | undefined;
  /** How such bodies are read; undefined if they are not. */
  readonly kind: BodyKind | undefined;
  /** As it is recorded. */
  readonly shown: string;
}

/** Types repeat; clients may make up any number of them. */
const CACHED_MAX = 256;

const caches = new WeakMap<RuleSet, Map<string, MediaType>>();

/** Parses a `Content-Type`, as it was sent. */
export function mediaTypeOf(type: string, rules: RuleSet): MediaType {
  let cache = caches.get(rules);
  if (cache === undefined) {
    cache = new Map();
    caches.set(rules, cache);
  }
  const known = cache.get(type);
  if (known !== undefined) return known;
  if (cache.size >= CACHED_MAX) cache.clear();
  const essence = essenceOf(type);
  const parsed: MediaType = {
    essence,
    charset: charsetOf(type),
    kind: kindOf(essence),
    shown: redactShortText(type, rules),
  };
  cache.set(type, parsed);
  return parsed;
}

function essenceOf(type: string): string {
  return type.split(";")[0]!.trim().toLowerCase();
}

function charsetOf(type: string): string | undefined {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/iu.exec(type) ?? [];
  return (quoted ?? plain)?.toLowerCase();
}

const JSON_TYPE = /^[^/]+\/(?:json|[^/]+\+json|x-amz-json-[\d.]+|csp-report)$/u;
const JSON_LINES = /^application\/(?:(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines)|json-seq)$/u;

/**
 * How bodies of a media type are read; undefined if rules for names could not be applied to them, as
 * to HTML, XML or CSV.
 */
function kindOf(essence: string): BodyKind | undefined {
  // Before JSON, because of `json-seq`.
  if (JSON_LINES.test(essence)) return "json-lines";
  if (JSON_TYPE.test(essence)) return "json";
  switch (essence) {
    case "application/x-www-form-urlencoded":
      return "form";
    case "text/event-stream":
      return "events";
    case "text/plain":
      return "text";
    default:
      return undefined;
  }
}

/** Whether a media type matches one of the ranges, such as `image/*`. */
export function isInRanges(essence: string, ranges: readonly string[]): boolean {
  const [family = ""] = essence.split("/");
  return ranges.some((range) => range === essence || range === `${family}/*`);
}
