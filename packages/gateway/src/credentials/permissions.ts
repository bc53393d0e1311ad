import type { AccessKey, Right } from "./credentials.ts";

/** Whether a key may do anything in a bucket. */
export function allowsBucket({ buckets }: AccessKey, bucket: string): boolean {
  return buckets.some((pattern) => matches(pattern, bucket));
}

/**
 * Whether a key has a right to an object.
 *
 * @param object the object's key; of a list, the prefix of the list
 */
export function allowsObject(
  key: AccessKey,
  right: Right,
  bucket: string,
  object: Uint8Array,
): boolean {
  return (
    key.rights.includes(right) &&
    allowsBucket(key, bucket) &&
    (key.prefixes.length === 0 ||
      key.prefixes.some((prefix) => beginsWith(object, Buffer.from(prefix))))
  );
}

/** Whether a key may do something to a whole bucket, such as to delete it. */
export function allowsWholeBucket(key: AccessKey, right: Right, bucket: string): boolean {
  return key.rights.includes(right) && allowsBucket(key, bucket) && key.prefixes.length === 0;
}

function matches(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

function beginsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, prefix.length), prefix) === 0;
}
