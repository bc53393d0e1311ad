import type { StoredObject } from "../catalog/records.ts";
import { S3Error } from "../errors.ts";

type Tags = StoredObject["tags"];

const TAGS_MAX = 10;
const NAME_MAX = 128;
const VALUE_MAX = 256;

/** The tags of an `x-amz-tagging` header, `a=1&b=2`. Throws S3Error `InvalidTag`, `BadRequest`. */
export function tagsOf(header: string | undefined): Tags {
  if (header === undefined || header === "") return [];
  const tags = header.split("&").map((pair) => {
    const [name = "", ...value] = pair.split("=");
    return [decode(name), decode(value.join("="))] as const;
  });
  if (tags.length > TAGS_MAX) {
    throw new S3Error("BadRequest", "Object tags cannot be greater than 10");
  }
  if (new Set(tags.map(([name]) => name)).size < tags.length) {
    throw new S3Error("InvalidTag", "Cannot provide multiple Tags with the same key");
  }
  for (const [name, value] of tags) {
    if (name === "" || [...name].length > NAME_MAX) {
      throw new S3Error("InvalidTag", "The TagKey you have provided is invalid");
    }
    if ([...value].length > VALUE_MAX) {
      throw new S3Error("InvalidTag", "The TagValue you have provided is invalid");
    }
  }
  return tags;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new S3Error("InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.", {
      details: { ArgumentName: "x-amz-tagging" },
    });
  }
}
