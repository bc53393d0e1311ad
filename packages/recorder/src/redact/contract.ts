import type { Header, RecordedBody } from "../record/exchange.ts";

/** What happens to a value that a rule covers. */
export type RedactAction = "drop" | "mask" | "hash" | "replace" | "truncate";

/**
 * A rule of redaction: data, checked at start. Exactly one of `header`, `name` and `path` says what
 * it covers, in requests and responses alike. Names match regardless of case and of everything but
 * letters and digits. In `header` and `name`, `*` is any text. The first rule that covers a value
 * counts, and rules come before defaults.
 */
export interface RedactRule {
  /** A header. */
  readonly header?: string | undefined;
  /**
   * A header, a cookie, a parameter of a query or form, or a member of JSON at any depth. In plain
   * text, `name: value` is covered only if the name has at most one colon.
   */
  readonly name?: string | undefined;
  /**
   * A dotted path into JSON from its root, in which `*` is any one member or item, and `**` any
   * number of them, such as `users.*.email`. Also covers parameters of queries and forms, of which
   * `user.email` and `user[email]` are the same path.
   */
  readonly path?: string | undefined;
  /** Only exchanges whose path or route matches this pattern: `*` is any text, `/` included. */
  readonly route?: string | undefined;
  readonly action: RedactAction;
  /** With `replace`: the text that takes the value's place. */
  readonly with?: string | undefined;
  /** With `truncate`: how many characters stay, 0 or more. */
  readonly length?: number | undefined;
}

/** What is redacted without any rule. Each is on unless it is `false`. */
export interface RedactDefaults {
  /** `Authorization` and `Proxy-Authorization`; the scheme stays. */
  readonly authorization?: boolean | undefined;
  /** The values in `Cookie` and `Set-Cookie`; names and attributes stay. */
  readonly cookies?: boolean | undefined;
  /** Headers that carry API keys, such as `X-Api-Key`. */
  readonly apiKeys?: boolean | undefined;
  /** Members and parameters named password, secret, token, session, cvv, ssn and the like. */
  readonly names?: boolean | undefined;
  /** User and password in URLs. */
  readonly userinfo?: boolean | undefined;
  /** The parameters that sign URLs, such as `X-Amz-Signature`. */
  readonly signedUrls?: boolean | undefined;
  /** JSON Web Tokens anywhere in text. */
  readonly jwts?: boolean | undefined;
  /** Numbers of 13 to 19 digits with a valid Luhn checksum anywhere in text. */
  readonly cardNumbers?: boolean | undefined;
}

/** Options of `createRedactor`. */
export interface RedactorOptions {
  /** The key of `hash`: 32 bytes or more. */
  readonly hashKey: Uint8Array;
  readonly defaults?: RedactDefaults | undefined;
  /**
   * Media types whose bodies are kept as base64 without redaction, such as `image/*`; by default
   * none.
   */
  readonly binaryTypes?: readonly string[] | undefined;
  /** The most bytes that a body may decode to: the limit for bodies. */
  readonly maxDecodedBytes: number;
}

/** Checked rules. Pure: neither clock nor randomness nor I/O. */
export interface Redactor {
  /** The rules that hold for one exchange. */
  for(exchange: RedactedExchange): ExchangeRedactor;
}

/** What chooses the rules. */
export interface RedactedExchange {
  /** As `RecordedRequest.url`, before redaction; may be any text. */
  readonly url: string;
  readonly route?: string | undefined;
}

/** Redaction of one exchange. If a call throws, the record is dropped. */
export interface ExchangeRedactor {
  /** Any text: a path with a query, or a whole URL. What is not a URL is treated as text. */
  url(): Work<string>;
  /** As `RedactedExchange.route`: often a pattern, but what Express mounts a router on is a path. */
  route(): Work<string | undefined>;
  headers(list: readonly Header[]): Work<Header[]>;
  /** Any other text, such as a reason phrase. */
  text(text: string): Work<string>;
  body(body: CapturedBody): Work<RecordedBody>;
}

/**
 * Work in steps of at most about 0.2 ms: the caller goes on with `next()` at once, or lets the event
 * loop have its turn first. `return()` gives it up.
 */
export type Work<T> = Generator<void, T, void>;

/** A body as it passed. */
export interface CapturedBody {
  /** All bytes that passed. */
  readonly size: number;
  /** `Content-Type`, as it was sent. */
  readonly type: string | undefined;
  /** `Content-Encoding`, as it was sent. */
  readonly encoding: string | undefined;
  /** The beginning of the body, as it passed, at most the limit for bodies. Nobody changes it. */
  readonly bytes: Buffer;
  /** More passed than `bytes` holds, or the connection ended before the body did. */
  readonly cut: boolean;
}
