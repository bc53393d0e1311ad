import type { Invocation } from "../invocation.ts";
import { identitiesOf, identitySource } from "../keys/identity-source.ts";
import { recipientSource, type RecipientSource } from "../keys/recipient-source.ts";
import type { Config, Located, Preferences } from "./config.ts";

/** The source of a value. */
export interface Origin {
  readonly kind: "flag" | "environment" | "file" | "default";
  /** `--store`, `IDK_STORE` or `FILE:LINE`; empty for a default. */
  readonly where: string;
}

export interface Sourced<T = unknown> {
  readonly value: T;
  readonly origin: Origin;
}

/** The values of one source, by the names of settings. */
export type Layer = Readonly<Record<string, Sourced | undefined>>;

/** Flags override variables, and variables override the file. Lists are replaced, not joined. */
export function flagLayer({ options }: Invocation): Layer {
  const one = (name: string, flag: string): Sourced | undefined =>
    options[name] === undefined ? undefined : sourced(options[name], "flag", flag);
  const identities = textsOf(options["identity"]);
  const recipients = [
    ...textsOf(options["recipient"]).map(recipientItem),
    ...textsOf(options["recipientsFile"]).map(fileItem),
  ];
  const flags = [
    ...(options["recipient"] === undefined ? [] : ["-r"]),
    ...(options["recipientsFile"] === undefined ? [] : ["-R"]),
  ];
  return {
    store: one("store", "--store"),
    identity: list(
      identities.map((item) => identitySource(item)),
      "flag",
      ["-i"],
    ),
    recipients: list(recipients, "flag", flags),
    compress: one("compress", "--compress"),
    workers: one("workers", "--workers"),
    chunkSize: one("chunkSize", "--chunk-size"),
    padding: one("padding", options["padding"] === false ? "--no-padding" : "--padding"),
    dedupSecret: one("dedupSecret", "--dedup-secret"),
    // No variable: one of a project could send links, with their keys, to a page of its own.
    pageUrl: one("pageUrl", "--page-url"),
  };
}

export function environmentLayer({ env }: Invocation): Layer {
  const one = (name: string): Sourced | undefined =>
    env[name] ? sourced(env[name], "environment", name) : undefined;
  const { sources, variables } = identitiesOf(env);
  const recipients = (env["IDK_RECIPIENTS"] ?? "")
    .split(/[\s,]+/u)
    .filter((item) => item !== "")
    .map((item) => recipientSource(item));
  return {
    store: one("IDK_STORE"),
    identity: list(sources, "environment", variables),
    recipients: list(recipients, "environment", ["IDK_RECIPIENTS"]),
    compress: one("IDK_COMPRESS"),
    workers: one("IDK_WORKERS"),
  };
}

/** One section of the file. `identity` and `identity-command` override each other. */
export function fileLayer(
  { identity, identityCommand, ...rest }: Preferences,
  { path }: Config,
): Layer {
  const at = <T>(item: Located<T>): Sourced<T> =>
    sourced(item.value, "file", `${path}:${item.line}`);
  const lines = [identity, identityCommand]
    .flatMap((item) => (item ? [item.line] : []))
    .toSorted((a, b) => a - b);
  const sources = [
    ...(identity?.value ?? []),
    ...(identityCommand === undefined ? [] : [identityCommand.value]),
  ];
  return {
    ...Object.fromEntries(
      Object.entries(rest).map(([name, item]: [string, Located<unknown>]) => [name, at(item)]),
    ),
    identity: list(sources, "file", [`${path}:${lines.join(",")}`]),
  };
}

/** The value in the first layer that has one. */
export function firstOf(layers: readonly Layer[], name: string): Sourced | undefined {
  for (const layer of layers) if (layer[name] !== undefined) return layer[name];
  return undefined;
}

export function sourced<T>(value: T, kind: Origin["kind"], where: string): Sourced<T> {
  return { value, origin: { kind, where } };
}

function list(
  values: readonly unknown[],
  kind: Origin["kind"],
  where: readonly string[],
): Sourced | undefined {
  return values.length === 0 ? undefined : sourced(values, kind, where.join(", "));
}

function recipientItem(item: string): RecipientSource {
  return { kind: "recipient", text: item.trim() };
}

function fileItem(item: string): RecipientSource {
  return { kind: "file", path: item };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
