import type { Environment } from "./session.ts";
import { delimiter } from "node:path";
import { userFolders } from "./user-folders.ts";

/** Arguments and flags as the parser gives them, by name; the environment where flags are silent. */
export type RawSettings = Readonly<Record<string, unknown>>;

/** One recipient, or a file of them. */
export type RecipientSource =
  | { readonly kind: "recipient"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

/** A store's URL, with the variables that complete it. */
export interface StoreSource {
  readonly url: string;
  readonly env: Environment;
}

/**
 * Completes flags by the environment. A flag replaces its variable; it does not add to it.
 *
 * @param options named as in the long flags, in camel case
 */
export function withEnvironment(options: RawSettings, env: Environment): RawSettings {
  const flagged = [
    ...textsOf(options["recipient"]).map(recipientItem),
    ...textsOf(options["recipientsFile"]).map(fileItem),
  ];
  const identities = textsOf(options["identity"]);
  const storeAt = (url: unknown): StoreSource | undefined =>
    typeof url === "string" ? { url, env } : undefined;
  const store = options["store"] ?? (env["IDK_STORE"] || undefined);
  return {
    ...options,
    store: storeAt(store),
    // `idk store check URL`: the operand is the store.
    target: storeAt(options["url"] ?? store),
    // Where a copy goes is never left to a variable.
    from: storeAt(options["from"]),
    to: storeAt(options["to"]),
    identity: identities.length > 0 ? identities : split(env["IDK_IDENTITY"], delimiter),
    recipients:
      flagged.length > 0
        ? flagged
        : split(env["IDK_RECIPIENTS"], /[\s,]+/u).map((item) =>
            item.startsWith("idk1") ? recipientItem(item) : fileItem(item),
          ),
    compress: options["compress"] ?? (env["IDK_COMPRESS"] || undefined),
    workers: options["workers"] ?? (env["IDK_WORKERS"] || undefined),
    folders: userFolders(env),
    // As a flag it asks for protection; what protects never stands on a command line.
    protect: options["passphrase"],
    passphrase: env["IDK_PASSPHRASE"] || undefined,
  };
}

function recipientItem(item: string): RecipientSource {
  return { kind: "recipient", text: item };
}

function fileItem(item: string): RecipientSource {
  return { kind: "file", path: item };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function split(value: string | undefined, separator: string | RegExp): string[] {
  return (value ?? "").split(separator).filter((item) => item !== "");
}
