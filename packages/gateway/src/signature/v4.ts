import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { S3Error } from "../errors.ts";

export const V4_ALGORITHM = "AWS4-HMAC-SHA256";

/** What a V4 signature is limited to. */
export interface Scope {
  readonly accessKey: string;
  /** Such as `20130524`. */
  readonly date: string;
  readonly region: string;
}

/** Something wrong in a credential, in S3's words. */
type Report = (fault: string, details?: Readonly<Record<string, string>>) => S3Error;

/**
 * Parses `KEY/20130524/us-east-1/s3/aws4_request`.
 *
 * @param region the only one to accept; without it, any
 * @param report makes the error
 */
export function parseScope(credential: string, region: string | undefined, report: Report): Scope {
  // From its end, because an access key may contain slashes.
  const parts = credential.split("/");
  const [date, actualRegion, service, terminal] = parts.slice(-4);
  const accessKey = parts.slice(0, -4).join("/");
  if (accessKey === "" || actualRegion === "") {
    throw report(
      'the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".',
    );
  }
  if (terminal !== "aws4_request") {
    throw report(`incorrect terminal "${terminal}". This endpoint uses "aws4_request".`);
  }
  if (service !== "s3") {
    throw report(`incorrect service "${service}". This endpoint belongs to "s3".`);
  }
  if (!/^\d{8}$/u.test(date!)) {
    throw report(
      `incorrect date format "${date}". This date in the credential must be in the format "yyyyMMdd".`,
    );
  }
  if (region !== undefined && actualRegion !== region) {
    // Clients sign again with the region that they are told.
    throw report(`the region '${actualRegion}' is wrong; expecting '${region}'`, {
      Region: region,
    });
  }
  return { accessKey, date: date!, region: actualRegion! };
}

/** Those of the last scopes: all requests of a client in a day have the same one. */
const signingKeys = new Map<string, Buffer>();
/** Anybody may send other scopes. */
const SIGNING_KEYS_MAX = 64;

/** The key that all signatures of a scope are made with. */
export function signingKey(secret: string, { date, region }: Scope): Buffer {
  const name = JSON.stringify([secret, date, region]);
  const known = signingKeys.get(name);
  if (known !== undefined) return known;
  const key = [date, region, "s3", "aws4_request"].reduce(
    (key, part) => createHmac("sha256", key).update(part).digest(),
    Buffer.from(`AWS4${secret}`),
  );
  if (signingKeys.size >= SIGNING_KEYS_MAX) signingKeys.clear();
  signingKeys.set(name, key);
  return key;
}

/** @returns 64 lowercase hex digits */
export function sign(key: Uint8Array, stringToSign: string): string {
  return createHmac("sha256", key).update(stringToSign).digest("hex");
}

/** @param kind such as `AWS4-HMAC-SHA256`; after the scope come lines of its own */
export function stringToSign(
  kind: string,
  amzDate: string,
  { date, region }: Scope,
  lines: readonly string[],
): string {
  return [kind, amzDate, `${date}/${region}/s3/aws4_request`, ...lines].join("\n");
}

/** @param text Latin-1 */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "latin1").digest("hex");
}

/** Compares in time that depends on the lengths alone, which are no secret. */
export function equalInConstantTime(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** @param signed what the server signed; it has nothing that the client did not send */
export function signatureDoesNotMatch(
  accessKey: string,
  signed: Readonly<Record<string, string>>,
): S3Error {
  return new S3Error("SignatureDoesNotMatch", undefined, {
    details: { AWSAccessKeyId: accessKey, ...signed },
  });
}
