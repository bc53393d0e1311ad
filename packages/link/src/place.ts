import { StorageError } from "@idk/storage";
import { fromHex, toHex } from "@idk/storage/blobs";

/** The most seconds that a presigned URL is valid: S3 allows 7 days. */
export const EXPIRES_MAX: number = 7 * 24 * 60 * 60;

/** What the presigned URLs of one link have in common: AWS Signature Version 4 in a query. */
export interface Presigned {
  readonly region: string;
  readonly accessKeyId: string;
  /** As in `X-Amz-Date`: `20260102T030405Z`. */
  readonly signedAt: string;
  /** Seconds, 1 to 604,800. */
  readonly expiresIn: number;
  /** Empty unless the credentials are temporary. */
  readonly sessionToken: string;
}

/**
 * Where the blobs of a link are. The addresses of all its blobs follow from it, so a link, and the
 * list that it refers to, cannot lead to two places.
 */
export interface Place {
  /** The URL prefix of the blobs: an origin and a path that ends with a slash. */
  readonly base: string;
  /** Undefined if anyone may read the blobs. */
  readonly presigned: Presigned | undefined;
}

/** Servers on the same machine can do without TLS, as in tests. The page has no policy for IPv6. */
const LOOPBACK = /^(?:localhost|127\.0\.0\.1)$/u;

/**
 * Whether a text is an acceptable base, in the only spelling that is accepted: what the URL parser
 * makes of it.
 */
export function isBase(text: string): boolean {
  if (!/^https?:\/\/[a-z0-9.:-]+\/[\w.~%/:-]*$/u.test(text) || !text.endsWith("/")) return false;
  if (!URL.canParse(text)) return false;
  const { href, protocol, hostname } = new URL(text);
  return href === text && (protocol === "https:" || isLoopback(hostname));
}

/** Whether a host is this machine, so that HTTP is as good as HTTPS. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

/** When the server stops serving the blobs; undefined if they are public. */
export function expiryOf({ presigned }: Place): Date | undefined {
  if (presigned === undefined) return undefined;
  return new Date(momentOf(presigned.signedAt) + presigned.expiresIn * 1000);
}

/** The milliseconds since 1970 of `20260102T030405Z`; NaN if it is not a time. */
export function momentOf(signedAt: string): number {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/u.exec(signedAt) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const moment = Date.parse(text);
  // The 31st of February is the 3rd of March to some parsers.
  return !Number.isNaN(moment) && new Date(moment).toISOString() === text ? moment : NaN;
}

/**
 * The URL of a blob.
 *
 * @param address 64 hexadecimal digits
 * @param signature 32 bytes; not used if the place is public
 */
export function urlOf({ base, presigned }: Place, address: string, signature: Uint8Array): string {
  if (presigned === undefined) return base + address;
  const { region, accessKeyId, signedAt, expiresIn, sessionToken } = presigned;
  const scope = `${accessKeyId}/${signedAt.slice(0, 8)}/${region}/s3/aws4_request`;
  const token = sessionToken === "" ? "" : `&X-Amz-Security-Token=${encode(sessionToken)}`;
  return (
    `${base}${address}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encode(scope)}` +
    `&X-Amz-Date=${signedAt}&X-Amz-Expires=${expiresIn}${token}&X-Amz-SignedHeaders=host` +
    `&X-Amz-Signature=${toHex(signature)}`
  );
}

/**
 * The place and the signature in a presigned URL: the reverse of `urlOf`.
 *
 * @throws StorageError `usage` if `urlOf` could not have made it
 */
export function parsePresigned(
  url: string,
  address: string,
): { place: Place; signature: Uint8Array } {
  const { origin, pathname, searchParams } = new URL(url);
  const parameter = (name: string): string => searchParams.get(`X-Amz-${name}`) ?? "";
  const [, accessKeyId = "", region = ""] =
    /^(.+)\/\d{8}\/([^/]+)\/s3\/aws4_request$/u.exec(parameter("Credential")) ?? [];
  const signature = parameter("Signature");
  const place: Place = {
    base: `${origin}${pathname.slice(0, -address.length)}`,
    presigned: {
      region,
      accessKeyId,
      signedAt: parameter("Date"),
      expiresIn: Number(parameter("Expires")),
      sessionToken: parameter("Security-Token"),
    },
  };
  if (/^[0-9a-f]{64}$/u.test(signature)) {
    const bytes = fromHex(signature);
    if (urlOf(place, address, bytes) === url) return { place, signature: bytes };
  }
  throw new StorageError(
    "usage",
    "the presigned URLs of this store have another form than a link can hold; links need a store on S3, " +
      "MinIO or B2, or public addresses",
  );
}

/** RFC 3986, as signatures require; `encodeURIComponent` leaves five more characters unencoded. */
export function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
