import type { ListOptions, Page } from "../../catalog/catalog.ts";
import { S3Error } from "../../errors.ts";

type Position = Omit<NonNullable<Page<unknown>["next"]>, "afterId">;

/**
 * The position behind a marker of a client; the beginning if it is empty. A marker that is a common prefix
 * stands for all keys below it, which were listed as this prefix.
 */
export function afterMarker(
  marker: Uint8Array,
  delimiter: string | undefined,
): Pick<ListOptions, "after" | "isPrefixListed"> {
  if (marker.length === 0) return {};
  const end = Buffer.from(delimiter ?? "");
  const isPrefixListed = end.length > 0 && Buffer.from(marker.subarray(-end.length)).equals(end);
  return { after: marker, isPrefixListed };
}

/** A position in a list as an opaque text. */
export function formatToken({ after, isPrefixListed }: Position): string {
  return `${isPrefixListed ? "p" : "k"}${Buffer.from(after).toString("base64url")}`;
}

/** @throws S3Error `InvalidArgument` */
export function parseToken(token: string, name: string): Position {
  const [, kind, text = ""] = /^([pk])([\w-]*)$/u.exec(token) ?? [];
  if (kind === undefined) {
    throw new S3Error("InvalidArgument", `The ${name} provided is incorrect.`, {
      details: { ArgumentName: name },
    });
  }
  return { after: Buffer.from(text, "base64url"), isPrefixListed: kind === "p" };
}
