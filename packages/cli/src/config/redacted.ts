import type { IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipients.ts";
import { printable, redact } from "../output/text.ts";

/** Parameters that are no secrets. */
const OPEN: ReadonlySet<string> = new Set([
  "durability",
  "endpoint",
  "kms-key",
  "region",
  "sse",
  "sse-c-key",
  "tls",
]);

/** A store's URL without what looks like credentials, which it should not have. */
export function shownUrl(url: string): string {
  const [place = "", query] = url.split(/\?(.*)/su);
  // A secret key may have slashes in it.
  const open = place.replace(/^([a-z][a-z0-9+.-]+:(?:\/\/)?).*@/iu, "$1…@");
  const parameters = query?.split("&").map((item) => {
    const [name = "", value = ""] = item.split(/=(.*)/su);
    return `${name}=${OPEN.has(name) && !/@|%40/u.test(value) ? value : "…"}`;
  });
  return shownText(parameters === undefined ? open : `${open}?${parameters.join("&")}`);
}

export function shownText(text: string): string {
  return printable(redact(text));
}

/** Where an identity is to be found; never what it is. */
export function shownIdentity(source: IdentitySource): string {
  switch (source.kind) {
    case "file":
      return shownText(source.path);
    case "keychain":
      return shownText(`keychain:${source.name}`);
    case "variable":
      return "(set, not shown)";
    case "command":
      return shownText(
        `command: ${typeof source.command === "string" ? source.command : source.command.join(" ")}`,
      );
    default:
      return source satisfies never;
  }
}

export function shownRecipient(source: RecipientSource): string {
  return shownText(source.kind === "file" ? source.path : source.text);
}
