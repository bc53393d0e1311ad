import { fromHex, toHex } from "@idk/storage/blobs";
import { base64urlnopad } from "@scure/base";
import { LinkError } from "./errors.ts";
import { encode, EXPIRES_MAX, isBase, momentOf, type Place, type Presigned } from "./place.ts";

/** The most characters of a whole link, so that messengers and mail programs keep it whole. */
export const LINK_MAX = 1024;

const VERSION = "1";

/** What follows `#` in a link (docs/links.md). */
export interface Fragment {
  readonly place: Place;
  /** Of the list, 64 hexadecimal digits. */
  readonly address: string;
  /** Of the URL of the list, 32 bytes; empty if the place is public. */
  readonly signature: Uint8Array;
  /** 32 bytes, from which the keys of the list and of the root in it are derived. */
  readonly secret: Uint8Array;
}

/** The text of a fragment: fields with `~` between them. */
export function formatFragment({ place, address, signature, secret }: Fragment): string {
  const { base, presigned } = place;
  const fields = [VERSION, escaped(base.replace(/^https:\/\//u, ""))];
  if (presigned !== undefined) {
    const { region, accessKeyId, signedAt, expiresIn, sessionToken } = presigned;
    fields.push(field(region), field(accessKeyId), signedAt, String(expiresIn));
    fields.push(field(sessionToken), base64urlnopad.encode(signature));
  }
  fields.push(base64urlnopad.encode(fromHex(address)), base64urlnopad.encode(secret));
  return fields.join("~");
}

/** A path may have a tilde, which separates fields. */
function escaped(base: string): string {
  return base.replaceAll("~", "%7E");
}

/** Percent-encoded, apart from characters of Base64, which session tokens mostly are. */
function field(text: string): string {
  return escaped(encode(text)).replaceAll(/%2B|%2F|%3D/gu, decodeURIComponent);
}

/**
 * Parses what follows `#` in a link. It comes from outside, so only the one spelling that
 * `formatFragment` makes is accepted.
 *
 * @throws LinkError `malformed`, `version`
 */
export function parseFragment(text: string): Fragment {
  if (text.length > LINK_MAX) throw malformed("it is longer than a link can be");
  const fields = text.split("~");
  const [version = "", base = ""] = fields;
  if (version !== VERSION) {
    if (/^[1-9]\d{0,3}$/u.test(version)) {
      throw new LinkError("version", "a later version of idk made this link");
    }
    throw malformed("it does not begin like a link");
  }
  const isPublic = fields.length === 4;
  if (!isPublic && fields.length !== 10) throw malformed("a part of it is missing");
  const origin = base.startsWith("http://") ? "" : "https://";
  const place: Place = {
    base: `${origin}${base.replaceAll("%7E", "~")}`,
    presigned: isPublic ? undefined : presignedOf(fields.slice(2, 7)),
  };
  if (!isBase(place.base)) throw malformed("its place is not an https:// address");
  const parsed: Fragment = {
    place,
    signature: isPublic ? new Uint8Array(0) : bytesOf(fields[7]!),
    address: toHex(bytesOf(fields.at(-2)!)),
    secret: bytesOf(fields.at(-1)!),
  };
  if (formatFragment(parsed) !== text) throw malformed("it was changed");
  return parsed;
}

function presignedOf(fields: readonly string[]): Presigned {
  const [region = "", accessKeyId = "", signedAt = "", seconds = "", token = ""] = fields;
  const expiresIn = Number(seconds);
  const valid =
    region !== "" &&
    accessKeyId !== "" &&
    !Number.isNaN(momentOf(signedAt)) &&
    Number.isSafeInteger(expiresIn) &&
    expiresIn >= 1 &&
    expiresIn <= EXPIRES_MAX;
  if (!valid) throw malformed("its time is not valid");
  try {
    return {
      region: decodeURIComponent(region),
      accessKeyId: decodeURIComponent(accessKeyId),
      signedAt,
      expiresIn,
      sessionToken: decodeURIComponent(token),
    };
  } catch {
    throw malformed("it was changed");
  }
}

function bytesOf(text: string): Uint8Array {
  if (text.length !== 43) throw malformed("a part of it is missing");
  try {
    return base64urlnopad.decode(text);
  } catch {
    // The library's message would repeat the text.
    throw malformed("it was changed");
  }
}

function malformed(why: string): LinkError {
  return new LinkError("malformed", `the link is not complete: ${why}`);
}
