import { aborted } from "../../abort.ts";
import { StorageError } from "../../errors.ts";
import { meaningOf } from "./meanings.ts";

/** An error answer, reduced to what may be shown: no headers or URLs of the request. */
export interface Refusal {
  readonly status: number;
  /** The store's name for the error, such as `NoSuchKey`; empty where it gave none. */
  readonly code: string;
  readonly message: string;
  /** A header of the answer. */
  header(name: string): string | null;
}

/**
 * The library's error for an error answer.
 *
 * @param doing what was attempted and on what, to follow "cannot"
 */
export function refusal(answer: Refusal, doing: string, bucket: string): StorageError {
  const { status, code } = answer;
  const message = oneLine(answer.message);
  const own = special(answer, bucket);
  const { says, ...meaning } = own ?? meaningOf(status, code, message);
  const words = [status, code, message].filter(Boolean).join(" ");
  return new StorageError(meaning.code, `cannot ${doing}: ${says ?? `the store says ${words}`}`, {
    // Where the message is the store's own words, they are not said twice.
    cause: says === undefined ? undefined : new Error(words),
    transient: meaning.transient ?? false,
    retryAfterMs: code === STARTING ? undefined : retryAfter(answer.header("retry-after")),
  });
}

/**
 * MinIO on its way up. It asks for a minute then, as much as all the time there is for retries, but
 * is there within moments.
 */
const STARTING = "XMinioServerNotInitialized";

/**
 * From how many milliseconds on a clock that is off makes stores refuse signatures. Amazon and
 * MinIO allow 15 minutes.
 */
const SKEW = 15 * 60_000;

/** Meanings that need more of the answer than its code. */
function special(answer: Refusal, bucket: string): ReturnType<typeof meaningOf> | undefined {
  if (answer.code === "NoSuchBucket") {
    return {
      code: "unavailable",
      says: `the bucket ${bucket} does not exist; check its name, or create it`,
    };
  }
  const ahead = Date.now() - Date.parse(answer.header("date") ?? "");
  // An answer to HEAD has no code, and some stores have no code of their own for it.
  const unsaid = answer.status === 403 && /^(?:AccessDenied|Forbidden)?$/u.test(answer.code);
  if (answer.code === "RequestTimeTooSkewed" || (unsaid && Math.abs(ahead) > SKEW)) {
    return { code: "permission", says: skew(ahead) };
  }
  const region = answer.header("x-amz-bucket-region");
  const elsewhere =
    answer.code === "AuthorizationHeaderMalformed" || [301, 308].includes(answer.status);
  if (!elsewhere) return undefined;
  return {
    code: "unavailable",
    says: `the bucket ${bucket} is in another region${region ? `, ${oneLine(region)}` : ""}; set region and endpoint accordingly`,
  };
}

function skew(ahead: number): string {
  const seconds = Math.round(ahead / 1000);
  const off = Number.isNaN(seconds)
    ? "differs from the store's"
    : `is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the store's`;
  return `the clock of this machine ${off}; set it right`;
}

/** Milliseconds from a `Retry-After`, which has seconds or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/u.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** A server's words are not trusted to be short, or free of what controls a terminal. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, 300);
}

const UNTRUSTED = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|ERR_SSL/u;

/**
 * What connections fail with that may come about the next time: as the system, Node's and Bun's
 * `fetch` and HTTP parser name it.
 */
const NETWORK =
  /^(?:E(?:CONN|HOST|NET|AI_)\w+|E(?:PIPE|TIMEDOUT|NOTFOUND|ADDRNOTAVAIL|PROTO|MFILE|NFILE|NOBUFS)|HPE_\w+|UND_ERR_(?:SOCKET|CLOSED|DESTROYED|\w+_(?:TIMEOUT|MISMATCH))|ERR_STREAM_PREMATURE_CLOSE|Connection\w+|FailedToOpenSocket|Timeout|Malformed_HTTP_Response)$/u;

/** What `fetch` says where the reason that it gives, if any, has no code. */
const FETCH = /^(?:fetch failed|terminated)$/u;

/**
 * The library's error where no whole answer came, or nothing could be asked. Only what the network
 * does may pass: a mistake in a program or in an option stays.
 */
export function failure(
  error: unknown,
  doing: string,
  signal: AbortSignal | undefined,
): StorageError {
  if (error instanceof StorageError) return error;
  if (signal?.aborted) return aborted(signal);
  const { name, code, text } = innermost(error);
  const fail = (kind: "permission" | "unavailable" | "usage", says: string, transient = false) =>
    new StorageError(kind, `cannot ${doing}: ${says}`, { cause: error, transient });
  if (/CredentialsProvider|TokenProvider/u.test(name)) {
    return fail("permission", `no credentials are at hand; sign in, or give them (${text})`);
  }
  if (text === "Region is missing") return fail("usage", "no region is given; set it");
  if (UNTRUSTED.test(code)) {
    return fail("unavailable", `the server's certificate is not trusted (${code})`);
  }
  const fetched = code === "" && error instanceof TypeError && FETCH.test(error.message);
  if (NETWORK.test(code) || fetched || name === "TimeoutError") {
    return fail("unavailable", `the connection failed (${code || name}); try again`, true);
  }
  if (error instanceof Error && "$response" in error) {
    return fail("unavailable", "the answer cannot be read; check the endpoint, or try again", true);
  }
  if (error instanceof TypeError || name === "TypeError") {
    return new StorageError("unavailable", `cannot ${doing}: the request could not be made`, {
      cause: wordless(error),
    });
  }
  return fail("unavailable", text);
}

/** Where an error was thrown. Its words may quote a header, and that a secret. */
function wordless(error: unknown): Error {
  const { name, stack = "" } = error instanceof Error ? error : new Error();
  const frames = stack.split("\n").filter((line) => /^\s+at /u.test(line));
  const bare = new Error(name);
  bare.stack = [name, ...frames].join("\n");
  return bare;
}

/** Node's fetch wraps what the system said. */
function innermost(error: unknown): { name: string; code: string; text: string } {
  if (!(error instanceof Error)) return { name: "", code: "", text: oneLine(String(error)) };
  if (error.cause instanceof Error && !("code" in error)) return innermost(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return { name: error.name, code, text: oneLine(error.message) };
}

/** The SDK's error as an answer, or undefined where it is about something else. */
export function sdkRefusal(error: unknown): Refusal | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  const { httpStatusCode: status } = error.$metadata as { httpStatusCode?: number };
  // A 200 that could not be read counts as no answer.
  if (status === undefined || status < 300) return undefined;
  const { headers = {} } = ("$response" in error ? error.$response : {}) as {
    headers?: Record<string, string>;
  };
  return {
    status,
    // Answers to HEAD have no body, and the SDK puts in words of its own.
    code: /^(?:Unknown|UnknownError|\d+)$/u.test(error.name) ? "" : error.name,
    message: error.message,
    header: (name) => headers[name] ?? null,
  };
}
