import type { AuthenticateOptions, AuthenticatedRequest } from "./authentication.ts";
import { PRESIGNED_CHUNKS } from "./presigned-v4.ts";
import { type RequestHeaders, type S3Request, addHeaders } from "./request.ts";
import { equalInConstantTime, signatureDoesNotMatch } from "./v4.ts";
import { S3Error } from "../errors.ts";
import { canonicalPaths } from "./canonical.ts";
import { createHmac } from "node:crypto";
import { type Payload, parsePayload } from "./payload.ts";
import { isoDate } from "./times.ts";
import { secretOf } from "./verify-v4.ts";

/** The parameters that V2 signs, as in "Signing and authenticating REST requests" of the S3 guide. */
const SIGNED_PARAMETERS =
  /^(?:accelerate|acl|analytics|cors|delete|encryption|inventory|lifecycle|location|logging|metrics|notification|object-lock|partNumber|policy|replication|requestPayment|response-[a-z-]+|restore|select|select-type|storageClass|tagging|torrent|uploadId|uploads|versionId|versioning|versions|website)$/u;

/**
 * Parameters that V2 does not sign, and that change nothing but which names a listing begins with,
 * and how it is written. With any other, whoever has the URL of one operation could run another.
 */
const UNSIGNED_PARAMETERS =
  /^(?:continuation-token|delimiter|encoding-type|fetch-owner|key-marker|list-type|marker|max-keys|max-parts|max-uploads|part-number-marker|prefix|start-after|upload-id-marker|version-id-marker|x-id)$/u;

/** Checks a request that is signed by V2 in its query, as boto3 does unless told otherwise. */
export function authenticatePresignedV2(
  request: S3Request,
  { findSecret, now, hostBucket }: AuthenticateOptions,
): AuthenticatedRequest {
  const accessKey = request.query.get("AWSAccessKeyId") ?? "";
  const signature = request.query.get("Signature") ?? "";
  const expires = request.query.get("Expires") ?? "";
  if (accessKey === "" || signature === "" || expires === "") {
    throw new S3Error(
      "AccessDenied",
      "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters",
    );
  }
  if (!/^\d{1,11}$/u.test(expires)) {
    throw new S3Error("AccessDenied", "Invalid date (should be seconds since epoch)", {
      details: { Expires: expires },
    });
  }
  const end = 1000 * Number(expires);
  if (now > end) {
    throw new S3Error("AccessDenied", "Request has expired", {
      details: { Expires: isoDate(end), ServerTime: isoDate(now) },
    });
  }
  const secret = secretOf(accessKey, findSecret);
  const { headers, query } = withoutSignature(request);
  const lines = [
    request.method,
    headers.get("content-md5") ?? "",
    headers.get("content-type") ?? "",
    expires,
  ].join("\n");
  const bucket = hostBucket === undefined ? "" : `/${hostBucket}`;
  const texts = canonicalPaths(request.rawPath).map(
    (path) => `${lines}\n${amzHeaders(headers)}${bucket}${path}${subresources(query)}`,
  );
  const matches = (text: string): boolean =>
    equalInConstantTime(
      createHmac("sha1", secret).update(text, "latin1").digest("base64"),
      signature,
    );
  if (!texts.some(matches)) throw signatureDoesNotMatch(accessKey, { StringToSign: texts[0]! });
  return {
    ...request,
    headers,
    query,
    accessKey,
    mechanism: "presigned-v2",
    payload: payloadOf(headers),
  };
}

/** A hash of the body is signed with the other `x-amz-…` headers, and so the body has to have it. */
function payloadOf(headers: RequestHeaders): Payload {
  const form = parsePayload(headers.get("x-amz-content-sha256") ?? "UNSIGNED-PAYLOAD");
  if (form.form === "hash" || form.form === "unsigned") return form;
  throw new S3Error("InvalidRequest", PRESIGNED_CHUNKS);
}

/**
 * Takes the parameters of the signature from the query, and those that stand for headers, which are
 * signed as such.
 *
 * @throws S3Error `AccessDenied` for a parameter that is not signed and not harmless
 */
function withoutSignature(request: S3Request): Pick<AuthenticatedRequest, "headers" | "query"> {
  const query = new Map<string, string>();
  const added: [name: string, value: string][] = [];
  for (const [name, value] of request.query) {
    if (["AWSAccessKeyId", "Expires", "Signature"].includes(name)) continue;
    const header = name.toLowerCase();
    if (/^(?:x-amz-.+|content-md5|content-type)$/u.test(header)) {
      added.push([header, value]);
    } else if (isUnambiguous(name, value)) {
      query.set(name, value);
    } else {
      throw new S3Error("AccessDenied", "There were query parameters which were not signed", {
        details: { ArgumentName: name },
      });
    }
  }
  return { headers: addHeaders(request.headers, added), query };
}

/**
 * V2 signs decoded values, so that `partNumber=1&uploadId=2` may be two parameters or, encoded, one
 * value, with which the request would be another operation.
 */
function isUnambiguous(name: string, value: string): boolean {
  if (!SIGNED_PARAMETERS.test(name)) return UNSIGNED_PARAMETERS.test(name);
  const more = value.split("&").slice(1);
  return !more.some((pair) => SIGNED_PARAMETERS.test(pair.split("=", 1)[0]!));
}

function amzHeaders(headers: RequestHeaders): string {
  const names = [...headers.keys()].filter((name) => name.startsWith("x-amz-")).toSorted();
  return names.map((name) => `${name}:${headers.get(name)}\n`).join("");
}

/** Values are decoded. Latin-1, as the rest of what is signed. */
function subresources(query: ReadonlyMap<string, string>): string {
  const pairs = [...query]
    .filter(([name]) => SIGNED_PARAMETERS.test(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => (value === "" ? name : `${name}=${value}`));
  return pairs.length === 0 ? "" : `?${Buffer.from(pairs.join("&")).toString("latin1")}`;
}
