import { existsSync } from "node:fs";
import { aligned, type Row } from "../output/text.ts";
import type { Session } from "../session.ts";
import type { Config } from "./config.ts";
import { shownIdentity, shownUrl } from "./redacted.ts";

/** `named` is what init did not make or look at; `added to` is a configuration with one more store. */
export type State = "made" | "there" | "missing" | "named" | "added to";

/** What `idk init` made and found. */
export interface SetupReport {
  readonly config: { readonly path: string; readonly state: State };
  readonly identities: readonly { readonly name: string; readonly state: State }[];
  /** As it may be shown; undefined where a configuration has none by default. */
  readonly store:
    | {
        readonly name: string;
        readonly url: string;
        readonly state: State;
        /** Why a bucket was not made, safe to print. */
        readonly reason?: string;
      }
    | undefined;
  /** Undefined where the configuration was there already. */
  readonly recipient: string | undefined;
  /** Whether a passphrase was set. */
  readonly protected: boolean;
}

export async function reportSetup(report: SetupReport, { out }: Session): Promise<void> {
  const { config, identities, store, recipient } = report;
  const rows: Row[] = [
    ...identities.map(({ name, state }): Row => [state, `identity ${name}`]),
    ...(store === undefined ? [] : [[store.state, `store ${store.name}: ${store.url}`] as const]),
    [config.state, `configuration ${config.path}`],
    ...(recipient === undefined ? [] : [["", `recipient ${recipient}`] as const]),
  ];
  await out.result(aligned(rows).join("\n"), {
    config,
    identities,
    store: store ?? null,
    recipient: recipient ?? null,
  });
  await out.flush();
  for (const remark of remarksOn(report)) await out.note(`idk: ${remark}`);
}

function* remarksOn(report: SetupReport): Generator<string> {
  const { config, identities, store, recipient } = report;
  for (const { name, state } of identities) {
    if (state === "missing") {
      yield `warning: the identity ${name} is missing: bring it back from your backup`;
    }
    if (state === "made" && name.startsWith("keychain:")) {
      yield `${name} has the only copy: back this keychain up, or give what matters a second recipient`;
    } else if (state === "made") {
      const what = report.protected ? "and remember its passphrase" : "where nobody else reads it";
      yield `back up ${name}, ${what}: without it nobody, you included, can read what you store`;
    }
  }
  if (store?.state === "missing") {
    yield `warning: the folder of the store is missing: \`idk store init\` makes an empty one`;
  }
  if (store?.reason !== undefined) {
    yield `warning: the bucket was not made: ${store.reason}`;
  }
  if (store?.state === "named") {
    yield `\`idk store init${of(report)}\` makes the bucket, \`idk store check${of(report)}\` tries it`;
  }
  if (config.state === "added to") {
    yield `next: idk put FILE --store ${store?.name} stores there`;
  } else if (recipient === undefined) yield `nothing was changed: edit ${config.path} for that`;
  else yield "next: idk put FILE prints an address, and idk get ADDRESS -o COPY brings it back";
}

/** What has to stand behind a command, for it to take a store that is not the default. */
function of({ config, store }: SetupReport): string {
  return config.state === "added to" && store !== undefined ? ` ${store.name}` : "";
}

/**
 * What a configuration names, and which of it is there; nothing is opened.
 *
 * @param chosen the store to tell of, instead of the default
 */
export function existingSetup(config: Config, chosen?: string): SetupReport {
  const [only] = config.stores.keys();
  const name = chosen ?? config.default?.value ?? (config.stores.size === 1 ? only : undefined);
  const entry = name === undefined ? undefined : config.stores.get(name);
  const { identity, identityCommand } =
    entry?.identity === undefined && entry?.identityCommand === undefined ? config.global : entry;
  const sources = [
    ...(identity?.value ?? []),
    ...(identityCommand === undefined ? [] : [identityCommand.value]),
  ];
  return {
    config: { path: config.path, state: "there" },
    identities: sources.map((source) => ({
      name: shownIdentity(source),
      state: source.kind !== "file" ? "named" : existsSync(source.path) ? "there" : "missing",
    })),
    store:
      name === undefined || entry === undefined
        ? undefined
        : { name, url: shownUrl(entry.url.value), state: stateOf(entry.url.value) },
    recipient: undefined,
    protected: false,
  };
}

function stateOf(url: string): "named" | "there" | "missing" {
  if (/^[a-z][a-z0-9+.-]+:/iu.test(url)) return "named";
  return existsSync(url) ? "there" : "missing";
}
