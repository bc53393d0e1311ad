import { delimiter } from "node:path";
import { looksLikeSecret, mayHaveSecret } from "../output/secrets.ts";
import type { Environment } from "../invocation.ts";

/** Where identities come from. Nothing is opened, prompted for or run until a key is needed. */
export type IdentitySource =
  | { readonly kind: "file"; readonly path: string }
  /** The secret store of the operating system. */
  | { readonly kind: "keychain"; readonly name: string }
  /** A variable that contains the identity itself. */
  | { readonly kind: "variable"; readonly name: string; readonly text: string }
  | IdentityCommand;

/** A program that prints an identity. */
export interface IdentityCommand {
  readonly kind: "command";
  /** A string is split into words as by a shell; a list is used as it is. */
  readonly command: string | readonly string[];
  /** The setting that names it, for messages. */
  readonly from: string;
  /** Its working directory; undefined for the current one. */
  readonly folder: string | undefined;
  readonly env: Environment;
}

const KEYCHAIN = "keychain:";

/** Parses `keychain:NAME` or a path. */
export function identitySource(
  text: string,
  toPath: (text: string) => string = (path) => path,
): IdentitySource {
  return text.startsWith(KEYCHAIN)
    ? { kind: "keychain", name: text.slice(KEYCHAIN.length) }
    : { kind: "file", path: toPath(text) };
}

/** Allows names that need no quoting on a command line. */
export function checkKeychainName(name: string): string {
  if (looksLikeSecret(name)) throw new Error("looks like a secret key, not a keychain name");
  if (/^[\p{L}\p{N}][\p{L}\p{N}._@-]{0,63}$/u.test(name)) return name;
  throw new Error("takes a keychain name of up to 64 letters, digits and ._@-");
}

/** A colon separates paths, but not within `keychain:NAME`. */
const SEPARATOR: RegExp = delimiter === ":" ? /(?<!(?:^|:)keychain):/u : /;/u;

/** All sources named in the environment. */
export function identitiesOf(env: Environment): {
  readonly sources: readonly IdentitySource[];
  readonly variables: readonly string[];
} {
  const named = env["IDK_IDENTITY"] ?? "";
  // A part of a URL would no longer look like one that may contain a secret.
  const files = mayHaveSecret(named)
    ? [named]
    : named.split(SEPARATOR).filter((item) => item !== "");
  const text = env["IDK_IDENTITY_KEY"] ?? "";
  const command = env["IDK_IDENTITY_COMMAND"] ?? "";
  const all: [variable: string, sources: readonly IdentitySource[]][] = [
    ["IDK_IDENTITY", files.map((item) => identitySource(item))],
    ["IDK_IDENTITY_KEY", text === "" ? [] : [{ kind: "variable", name: "IDK_IDENTITY_KEY", text }]],
    [
      "IDK_IDENTITY_COMMAND",
      command === ""
        ? []
        : [{ kind: "command", command, from: "IDK_IDENTITY_COMMAND", folder: undefined, env }],
    ],
  ];
  const given = all.filter(([, sources]) => sources.length > 0);
  return {
    sources: given.flatMap(([, sources]) => sources),
    variables: given.map(([variable]) => variable),
  };
}

/** A name for messages, never the secret. */
export function describeSource(source: IdentitySource): string {
  switch (source.kind) {
    case "file":
      return `identity file ${source.path}`;
    case "keychain":
      return `identity ${KEYCHAIN}${source.name}`;
    case "variable":
      return `identity in ${source.name}`;
    case "command":
      return source.from;
    default:
      return source satisfies never;
  }
}
