import type { Payload, PayloadForm } from "./payload.ts";
import {
  type Scope,
  V4_ALGORITHM,
  equalInConstantTime,
  sha256Hex,
  sign,
  signatureDoesNotMatch,
  signingKey,
  stringToSign,
} from "./v4.ts";
import { canonicalHeaders, canonicalPaths, canonicalQuery } from "./canonical.ts";
import type { AuthenticateOptions } from "./authentication.ts";
import { S3Error } from "../errors.ts";
import { type S3Request, isHeaderName } from "./request.ts";
import { amzDate } from "./times.ts";
import { chunkSignatures } from "./chunk-signatures.ts";

/** A V4 signature as sent, in a header or in the query. */
export interface SentSignature {
  readonly scope: Scope;
  /** Lower-case names. */
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** As it was signed: the last line of the canonical request. */
  readonly payloadHash: string;
  readonly form: PayloadForm;
  /** The query parameter that has the signature. */
  readonly parameter?: string;
}

/** Characters of a canonical request that a client is told. Whoever has none of the secrets can ask for one. */
const SHOWN_MAX = 8192;

/** @throws S3Error `InvalidAccessKeyId`, `AccessDenied`, `SignatureDoesNotMatch` */
export function verifyV4(
  request: S3Request,
  sent: SentSignature,
  findSecret: AuthenticateOptions["findSecret"],
): Payload {
  const { scope, signature, time, form } = sent;
  const secret = secretOf(scope.accessKey, findSecret);
  checkSignedHeaders(request, sent.signedHeaders);
  const key = signingKey(secret, scope);
  const date = amzDate(time);
  const canonical = canonicalRequests(request, sent);
  const texts = canonical.map((text) => stringToSign(V4_ALGORITHM, date, scope, [sha256Hex(text)]));
  if (!texts.some((text) => equalInConstantTime(sign(key, text), signature))) {
    throw signatureDoesNotMatch(scope.accessKey, {
      StringToSign: texts[0] ?? "",
      SignatureProvided: signature,
      CanonicalRequest: (canonical[0] ?? "").slice(0, SHOWN_MAX),
    });
  }
  if (form.form !== "signed-chunks") return form;
  return { ...form, signatures: chunkSignatures(key, date, scope, signature) };
}

/** @throws S3Error `InvalidAccessKeyId` */
export function secretOf(accessKey: string, findSecret: AuthenticateOptions["findSecret"]): string {
  const secret = findSecret(accessKey);
  if (secret !== undefined) return secret;
  throw new S3Error("InvalidAccessKeyId", undefined, { details: { AWSAccessKeyId: accessKey } });
}

/** One for each path that may have been signed; none if a signed header is missing. */
function canonicalRequests(
  { method, rawPath, query, headers }: S3Request,
  { signedHeaders, payloadHash, parameter }: SentSignature,
): readonly string[] {
  const lines = canonicalHeaders(headers, signedHeaders);
  if (lines === undefined) return [];
  const pairs = canonicalQuery(query, parameter);
  const names = signedHeaders.join(";");
  return canonicalPaths(rawPath).map((path) =>
    [method, path, pairs, lines, names, payloadHash].join("\n"),
  );
}

/**
 * Whatever changes what a request does has to be signed: whoever holds a presigned URL, or sees a
 * request, could add to it otherwise.
 */
function checkSignedHeaders({ headers }: S3Request, signedHeaders: readonly string[]): void {
  const unsigned = [...headers.keys()].filter((name) => name.startsWith("x-amz-"));
  unsigned.push("host");
  // Is the time of the signature if there is no other.
  if (headers.has("authorization") && !headers.has("x-amz-date")) unsigned.push("date");
  const missing = unsigned.filter((name) => !signedHeaders.includes(name));
  if (missing.length === 0) return;
  throw new S3Error(
    "AccessDenied",
    "There were headers present in the request which were not signed",
    { details: { HeadersNotSigned: missing.join(", ") } },
  );
}

/**
 * A name that is repeated would make the canonical request much longer than the request.
 *
 * @returns undefined if it is not a list of lower-case names, each of them once
 */
export function parseSignedHeaders(text: string): readonly string[] | undefined {
  const names = text.split(";");
  return names.every(isHeaderName) && new Set(names).size === names.length ? names : undefined;
}

/** @returns undefined if it is not 64 lowercase hex digits */
export function parseSignature(text: string): string | undefined {
  return /^[0-9a-f]{64}$/u.test(text) ? text : undefined;
}
