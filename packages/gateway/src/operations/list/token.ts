import type { Page } from "../../catalog/catalog.ts";
import { S3Error } from "../../errors.ts";

type Position = Omit<NonNullable<Page<unknown>["next"]>, "afterId">;

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
