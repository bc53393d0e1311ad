import { S3Error } from "../../errors.ts";
import type { ByteRange } from "../../objects/objects.ts";

/**
 * The range that a `Range` header asks for.
 *
 * @returns undefined for the whole object: without a header, and with one that is not a single range
 *   of bytes, which RFC 9110 lets a server ignore
 * @throws S3Error `InvalidRange` if no byte of the object is in it
 */
export function parseRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/u.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  // The last bytes of what has none are all there are, as RFC 9110 has it.
  if (first === "" && size === 0 && Number(last) > 0) return undefined;
  const range =
    first === ""
      ? { start: Math.max(0, size - Number(last)), end: size }
      : { start: Number(first), end: last === "" ? size : Math.min(size, Number(last) + 1) };
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  if (range.start < range.end) return range;
  throw new S3Error("InvalidRange", undefined, {
    details: { RangeRequested: header ?? "", ActualObjectSize: size },
  });
}

/** The range of `x-amz-copy-source-range`, which must be in the source. Throws S3Error `InvalidArgument`. */
export function parseCopyRange(header: string | undefined, size: number): ByteRange | undefined {
  if (header === undefined || header === "") return undefined;
  const [, first, last] = /^bytes=(\d{1,15})-(\d{1,15})$/u.exec(header) ?? [];
  if (first === undefined || last === undefined || Number(last) < Number(first)) {
    throw new S3Error(
      "InvalidArgument",
      "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy",
      { details: { ArgumentName: "x-amz-copy-source-range", ArgumentValue: header } },
    );
  }
  const range = { start: Number(first), end: Number(last) + 1 };
  if (range.end <= size) return range;
  throw new S3Error(
    "InvalidArgument",
    `Range specified is not valid for source object of size: ${size}`,
    { details: { ArgumentName: "x-amz-copy-source-range", ArgumentValue: header } },
  );
}
