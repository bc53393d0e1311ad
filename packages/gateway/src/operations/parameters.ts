import { S3Error } from "../errors.ts";

/** Bounds of a number in the query. */
export interface CountBounds {
  readonly min: number;
  /** More is taken for this. */
  readonly max: number;
  /** If the parameter is absent or empty. */
  readonly standard: number;
}

/** A number of the query, such as `max-keys`. Throws S3Error `InvalidArgument`. */
export function countOf(
  query: ReadonlyMap<string, string>,
  name: string,
  { min, max, standard }: CountBounds,
): number {
  const text = query.get(name) ?? "";
  if (text === "") return standard;
  const value = /^\d{1,10}$/u.test(text) ? Number(text) : -1;
  // S3 has them as 32 bits.
  if (value < min || value >= 2 ** 31) {
    const message = /^-\d+$/u.test(text)
      ? `Argument ${name} must be an integer between ${min} and 2147483647`
      : `Provided ${name} not an integer or within integer range`;
    throw new S3Error("InvalidArgument", message, {
      details: { ArgumentName: name, ArgumentValue: text },
    });
  }
  return Math.min(value, max);
}

/** `encoding-type`. Throws S3Error `InvalidArgument`. */
export function encodingOf(query: ReadonlyMap<string, string>): "url" | undefined {
  const value = query.get("encoding-type") ?? "";
  if (value === "") return undefined;
  if (value.toLowerCase() === "url") return "url";
  throw new S3Error("InvalidArgument", "Invalid Encoding Method specified in Request.", {
    details: { ArgumentName: "encoding-type", ArgumentValue: value },
  });
}

/** The number of a part, 1 to 10,000. Throws S3Error `InvalidArgument`. */
export function partNumberOf(query: ReadonlyMap<string, string>): number {
  const text = query.get("partNumber") ?? "";
  const number = /^\d{1,5}$/u.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 10_000) return number;
  throw new S3Error(
    "InvalidArgument",
    "Part number must be an integer between 1 and 10000, inclusive.",
    { details: { ArgumentName: "partNumber", ArgumentValue: text } },
  );
}
