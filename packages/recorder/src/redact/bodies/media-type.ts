/** How a body is read. */
export type BodyKind = "json" | "json-lines" | "events" | "form" | "text";

/** The media type of a `Content-Type` in lower case, without parameters. */
export function essenceOf(type: string): string {
  return type.split(";")[0]!.trim().toLowerCase();
}

/** The charset of a `Content-Type` in lower case, if it has one. */
export function charsetOf(type: string): string | undefined {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/iu.exec(type) ?? [];
  return (quoted ?? plain)?.toLowerCase();
}

const JSON_TYPE = /^[^/]+\/(?:json|[^/]+\+json|x-amz-json-[\d.]+|csp-report)$/u;
const JSON_LINES = /^application\/(?:(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines)|json-seq)$/u;

/**
 * How bodies of a media type are read; undefined if rules for names could not be applied to them, as
 * to HTML, XML or CSV.
 */
export function kindOf(essence: string): BodyKind | undefined {
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
