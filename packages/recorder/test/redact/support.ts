import type {
  CapturedBody,
  Redactor,
  RedactorOptions,
  RedactRule,
  Work,
} from "../../src/redact/contract.ts";
import type { RecordedBody } from "../../src/record/exchange.ts";
import { createRedactor } from "../../src/redact/redactor.ts";

export const HASH_KEY = new Uint8Array(32).fill(7);

const MAX = 64 * 1024;

export function redactor(
  rules: readonly RedactRule[] = [],
  options: Partial<RedactorOptions> = {},
): Redactor {
  return createRedactor(rules, { hashKey: HASH_KEY, maxDecodedBytes: MAX, ...options });
}

/** All defaults off, for tests of rules alone. */
export const NO_DEFAULTS = {
  authorization: false,
  cookies: false,
  apiKeys: false,
  names: false,
  userinfo: false,
  signedUrls: false,
  jwts: false,
  cardNumbers: false,
} as const;

/** Does all steps. */
export function finished<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** A body as it passed. */
export function captured(
  content: string | Uint8Array,
  type: string | undefined,
  more: Partial<CapturedBody> = {},
): CapturedBody {
  const bytes = Buffer.from(content as Uint8Array);
  return { size: bytes.length, type, encoding: undefined, bytes, cut: false, ...more };
}

/** Redacts a body with a type. */
export function redactedBody(
  content: string | Uint8Array,
  type: string | undefined,
  rules: readonly RedactRule[] = [],
  more: Partial<CapturedBody> = {},
  options: Partial<RedactorOptions> = {},
): RecordedBody {
  const exchange = redactor(rules, options).for({ url: "/" });
  return finished(exchange.body(captured(content, type, more)));
}

/** The text of redacted JSON. */
export function redactedJson(
  json: string,
  rules: readonly RedactRule[] = [],
  options: Partial<RedactorOptions> = {},
): string | undefined {
  return redactedBody(json, "application/json", rules, {}, options).text;
}

/** The text of the beginning of JSON that was cut. */
export function redactedBeginning(json: string, rules: readonly RedactRule[] = []): RecordedBody {
  return redactedBody(json, "application/json", rules, { cut: true });
}

/** Redacts one header. */
export function redactedHeader(
  name: string,
  value: string,
  rules: readonly RedactRule[] = [],
  options: Partial<RedactorOptions> = {},
): string | undefined {
  const exchange = redactor(rules, options).for({ url: "/" });
  const [header] = finished(exchange.headers([[name, value]]));
  return header?.[1];
}

/** Redacts a URL. */
export function redactedUrl(
  url: string,
  rules: readonly RedactRule[] = [],
  options: Partial<RedactorOptions> = {},
): string {
  return finished(redactor(rules, options).for({ url }).url());
}

/** A token as servers issue them. */
export const TOKEN =
  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";

/** A number with a valid checksum that no bank has issued. */
export const CARD = "4111111111111111";
