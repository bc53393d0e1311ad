import { existsSync } from "node:fs";
import { aligned, type Row } from "../output/text.ts";
import type { Session } from "../session.ts";
import type { Config } from "./config.ts";
import { identityLabel, redactedUrl } from "./redacted.ts";

/** `named`: neither created nor checked by init. `added to`: a configuration with a new store. */
export type State = "made" | "copied" | "there" | "missing" | "named" | "added to";

const LABELS: Readonly<Record<State, string>> = {
  made: "created",
  copied: "copied",
  there: "exists",
  missing: "missing",
  named: "unchecked",
  "added to": "updated",
};

/** What `idk init` created and found. */
export interface SetupReport {
  readonly config: { readonly path: string; readonly state: State };
  readonly identities: readonly { readonly name: string; readonly state: State }[];
  /** The URL is redacted. Undefined if the configuration has no default store. */
  readonly store:
    | {
        readonly name: string;
        readonly url: string;
        readonly state: State;
        /** Why a bucket was not created, safe to print. */
        readonly reason?: string;
      }
    | undefined;
  /** Undefined if the configuration existed already. */
  readonly recipient: string | undefined;
  /** What the identity file was copied from; `-` for standard input. */
  readonly copied?: string | undefined;
  /** Whether a passphrase was set. */
  readonly protected: boolean;
}

export async function reportSetup(report: SetupReport, { out }: Session): Promise<void> {
  const { config, identities, store, recipient } = report;
  const rows: Row[] = [
    ...identities.map(({ name, state }): Row => [LABELS[state], `identity ${name}`]),
    ...(store === undefined
      ? []
      : [[LABELS[store.state], `store ${store.name}: ${store.url}`] as const]),
    [LABELS[config.state], `configuration ${config.path}`],
    ...(recipient === undefined ? [] : [["", `recipient ${recipient}`] as const]),
  ];
  await out.result(aligned(rows).join("\n"), {
    config,
    identities,
    store: store ?? null,
    recipient: recipient ?? null,
  });
  await out.flush();
  for (const note of notesOn(report)) await out.note(`idk: ${note}`);
}

function* notesOn(report: SetupReport): Generator<string> {
  const { config, identities, store, recipient } = report;
  for (const { name, state } of identities) {
    if (state === "missing") {
      yield `warning: the identity ${name} is missing: restore it from your backup`;
    }
    if (state === "made" && name.startsWith("keychain:")) {
      yield `${name} is the only copy: back up this keychain, or add a second recipient to important content`;
    } else if (state === "made") {
      const what = report.protected
        ? "and remember its passphrase"
        : "where no one else can read it";
      yield `back up ${name}, ${what}: without it, no one can read what you store, not even you`;
    }
  }
  if (report.copied !== undefined && report.copied !== "-") {
    yield `${report.copied} was copied: keep it as a backup, or delete it`;
  }
  if (store?.state === "missing") {
    yield `warning: the folder of the store is missing: \`idk store init\` creates an empty one`;
  }
  if (store?.reason !== undefined) {
    yield `warning: the bucket was not created: ${store.reason}`;
  }
  if (store?.state === "named") {
    yield `create the bucket with \`idk store init${argumentFor(report)}\`, and test it with \`idk store check${argumentFor(report)}\``;
  }
  if (config.state === "added to") {
    yield `next: \`idk put FILE --store ${store?.name}\` stores a file there`;
  } else if (recipient === undefined)
    yield `nothing was changed; to change settings, edit ${config.path}`;
  else
    yield "next: `idk backup FOLDER` backs up a folder; `idk put FILE` stores a file and prints its address";
}

/** The argument that selects the store if it is not the default. */
function argumentFor({ config, store }: SetupReport): string {
  return config.state === "added to" && store !== undefined ? ` ${store.name}` : "";
}

/**
 * Reports what a configuration names and whether it exists, without opening anything.
 *
 * @param chosen the store to report, instead of the default
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
      name: identityLabel(source),
      state: source.kind !== "file" ? "named" : existsSync(source.path) ? "there" : "missing",
    })),
    store:
      name === undefined || entry === undefined
        ? undefined
        : { name, url: redactedUrl(entry.url.value), state: stateOf(entry.url.value) },
    recipient: undefined,
    protected: false,
  };
}

function stateOf(url: string): "named" | "there" | "missing" {
  if (/^[a-z][a-z0-9+.-]+:/iu.test(url)) return "named";
  return existsSync(url) ? "there" : "missing";
}
