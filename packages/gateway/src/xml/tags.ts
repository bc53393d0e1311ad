import { SHORT_XML_ELEMENTS } from "./bodies.ts";
import { childrenOf, malformed, parseXml } from "./read.ts";
import { S3Error } from "../errors.ts";

/** Tags in the order given. */
export type Tags = readonly (readonly [key: string, value: string])[];

/** How many an object may have. */
const TAGS_MAX = 10;

/**
 * The body of PutObjectTagging: at most 10 tags with different keys of 1 to 128 characters and values
 * of up to 256.
 *
 * @throws S3Error `MalformedXML`, `InvalidTag`, `BadRequest` (too many)
 */
export function parseTagging(body: Uint8Array): Tags {
  const set = childrenOf(parseXml(body, "Tagging", SHORT_XML_ELEMENTS), ["TagSet"]).get("TagSet");
  if (set === undefined) throw malformed();
  const tags = set.children.map((element): Tags[number] => {
    if (element.name !== "Tag") throw malformed();
    const fields = childrenOf(element, ["Key", "Value"]);
    const [key, value] = [fields.get("Key"), fields.get("Value")];
    if (key === undefined || value === undefined) throw malformed();
    if (key.children.length > 0 || value.children.length > 0) throw malformed();
    return [key.text, value.text];
  });
  return checkTags(tags);
}

/**
 * The header `x-amz-tagging`: a query string.
 *
 * @throws S3Error `InvalidArgument` if it is not percent-encoded, or has a name twice or none, `InvalidTag`,
 *   `BadRequest`
 */
export function parseTaggingHeader(text: string): Tags {
  const pairs = text.split("&").filter((pair) => pair !== "");
  const tags = pairs.map((pair): Tags[number] => {
    const equals = pair.indexOf("=");
    const [key, value] =
      equals === -1 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
    return [decode(key), decode(value)];
  });
  const keys = new Set(tags.map(([key]) => key));
  if (keys.has("") || keys.size < tags.length) throw badHeader();
  return checkTags(tags);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", "%20"));
  } catch {
    throw badHeader();
  }
}

function badHeader(): S3Error {
  return new S3Error(
    "InvalidArgument",
    "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
    { details: { ArgumentName: "x-amz-tagging" } },
  );
}

/** Letters, spaces, digits and some signs, as S3 allows them. */
const ALLOWED = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

function checkTags(tags: Tags): Tags {
  if (tags.length > TAGS_MAX) {
    throw new S3Error("BadRequest", `Object tags cannot be greater than ${TAGS_MAX}`);
  }
  const keys = new Set<string>();
  for (const [key, value] of tags) {
    if (key === "" || lengthOf(key) > 128 || !ALLOWED.test(key)) {
      throw invalidTag("The TagKey you have provided is invalid", key);
    }
    if (lengthOf(value) > 256 || !ALLOWED.test(value)) {
      throw invalidTag("The TagValue you have provided is invalid", key);
    }
    if (keys.has(key)) throw invalidTag("Cannot provide multiple Tags with the same key", key);
    keys.add(key);
  }
  return tags;
}

/** Characters, not UTF-16 code units. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

function invalidTag(message: string, key: string): S3Error {
  return new S3Error("InvalidTag", message, { details: { TagKey: key } });
}
