import type { IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipient-source.ts";
import { isSecretNotPath } from "../output/secrets.ts";
import { printable, redact } from "../output/text.ts";

/** Parameters that are not secret. */
const PUBLIC: ReadonlySet<string> = new Set([
  "durability",
  "endpoint",
  "kms-key",
  "region",
  "sse",
  "sse-c-key",
  "tls",
]);

/** A store's URL, without anything that looks like credentials. */
export function redactedUrl(url: string): string {
  const [whole = "", fragment] = url.split(/#(.*)/su);
  const [base = "", query] = whole.split(/\?(.*)/su);
  // A secret key may contain slashes.
  const redacted = base.replace(/^([a-z][a-z0-9+.-]+:(?:\/\/)?).*@/iu, "$1…@");
  const parameters = query?.split("&").map((item) => {
    const [name = "", value = ""] = item.split(/=(.*)/su);
    return `${name}=${PUBLIC.has(name) && !/@|%40/u.test(value) ? value : "…"}`;
  });
  const shown =
    redacted +
    (parameters === undefined ? "" : `?${parameters.join("&")}`) +
    (fragment === undefined ? "" : "#…");
  return shown.includes("://") ? printable(redact(shown)) : safeText(shown);
}

export function safeText(text: string): string {
  if (isSecretNotPath(text)) return "… (looks like a secret key)";
  return printable(redact(text));
}

/** Where an identity comes from, never the identity. */
export function identityLabel(source: IdentitySource): string {
  switch (source.kind) {
    case "file":
      return safeText(source.path);
    case "keychain":
      return safeText(`keychain:${source.name}`);
    case "variable":
      return "(set, not shown)";
    case "command":
      return safeText(
        `command: ${typeof source.command === "string" ? source.command : source.command.join(" ")}`,
      );
    default:
      return source satisfies never;
  }
}

export function recipientLabel(source: RecipientSource): string {
  return safeText(source.kind === "file" ? source.path : source.text);
}
