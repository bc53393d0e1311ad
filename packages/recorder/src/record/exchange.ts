/**
 * One recorded HTTP exchange: a line of a segment, as JSON. Everything in it is redacted. Each value
 * is stored once; what HAR derives from it (query parameters, cookies, sizes of headers) is derived
 * at export.
 */
export interface Exchange {
  /**
   * Unique in the archive: the first 12 digits of the run, `-`, and the number of the exchange in its
   * run, in decimal, in the order in which exchanges began.
   */
  readonly id: string;
  /** When it began: ISO 8601 in UTC, with milliseconds. */
  readonly time: string;
  /** How long it took until the response was sent, in milliseconds, with up to 3 decimals. */
  readonly ms: number;
  /** `in`: the application answered it. `out`: the application sent it. */
  readonly direction: "in" | "out";
  /**
   * The pattern that the framework matched, such as `/users/:id`, if it tells. Where Express mounted a
   * router on a pattern, that part is the path itself.
   */
  readonly route?: string;
  /**
   * Why it did not end in order. `aborted`: one side closed the connection before the response was
   * complete. `error`: the handler, or the request that was sent, failed. `open`: the recorder was
   * closed before the exchange was over. `unread`: the application dropped the response without
   * reading its body.
   */
  readonly ended?: "aborted" | "error" | "open" | "unread";
  readonly request: RecordedRequest;
  /** Absent if there was none. */
  readonly response?: RecordedResponse;
}

/** What was asked. */
export interface RecordedRequest {
  readonly method: string;
  /** As it was sent: the path and query if `in` (the header `host` has the rest), whole if `out`. */
  readonly url: string;
  /** `1.0`, `1.1` or `2.0`; absent if the runtime does not tell. */
  readonly http?: string;
  readonly headers: readonly Header[];
  /** Absent if there was none, or an empty one. */
  readonly body?: RecordedBody;
}

/** What was answered. */
export interface RecordedResponse {
  readonly status: number;
  /** The reason phrase, if it is not empty. */
  readonly reason?: string;
  readonly headers: readonly Header[];
  /** Absent if there was none, or an empty one. */
  readonly body?: RecordedBody;
}

/**
 * Name and value. Those of a server of Node are in order, with duplicates; those of web handlers and
 * `fetch` are as `Headers` gives them, sorted and joined. Each UTF-16 unit of a value is a byte as it
 * was sent.
 */
export type Header = readonly [name: string, value: string];

/**
 * A body. At most one of `text` and `base64` is present, and if neither is, `why` is.
 */
export interface RecordedBody {
  /** Bytes that passed, before any decoding; those beyond the limit and unread ones that passed count. */
  readonly size: number;
  /** `Content-Type` as it was sent, or absent. */
  readonly type?: string;
  /** The redacted text, after decoding `Content-Encoding` and charset. */
  readonly text?: string;
  /** The bytes, of a type that the options name as binary. Not redacted. */
  readonly base64?: string;
  /** The text or bytes are only the beginning. */
  readonly cut?: true;
  /** Why neither text nor bytes are there. */
  readonly why?: BodyOmission;
}

/**
 * Why a body has only its size and type.
 *
 * - `type`      its type is unknown, or not given
 * - `multipart` multipart bodies are never kept
 * - `encoding`  its content encoding or charset is unknown, or it does not decode
 * - `broken`    it is not what its type says, such as JSON
 * - `rule`      a rule drops it
 * - `queue`     too many bytes were queued
 * - `limit`     the limit for bodies is 0, or the exchange would take more than 32 MiB as JSON
 * - `unseen`    it passed where the recorder cannot see it, or would be changed by that
 */
export type BodyOmission =
  | "type"
  | "multipart"
  | "encoding"
  | "broken"
  | "rule"
  | "queue"
  | "limit"
  | "unseen";
