import type { Config } from "./config.ts";
import type { SetupReport } from "./setup-report.ts";
import { existsSync } from "node:fs";
import { shownIdentity, shownUrl } from "./shown.ts";

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
