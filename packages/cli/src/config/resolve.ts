import { expandHome, userFolders } from "../folders.ts";
import type { Invocation, RawSettings } from "../invocation.ts";
import { type Config, findStore, isStoreName, type StoreEntry } from "./config.ts";
import {
  environmentLayer,
  fileLayer,
  firstOf,
  flagLayer,
  type Layer,
  type Sourced,
  sourced,
} from "./layers.ts";
import { loadConfig } from "./load-config.ts";
import { endpointFromVariable, overridesOf } from "./overrides.ts";
import { redactedUrl } from "./redacted.ts";
import type { RepositorySource, StoreSource } from "./settings.ts";

/** The settings that variables or the file can set, as well as flags. */
export const CONFIGURABLE = [
  "identity",
  "recipients",
  "compress",
  "chunkSize",
  "padding",
  "dedupSecret",
  "workers",
  "pageUrl",
] as const;

/** Settings that name a store, with the flag or operand of each and its name in messages. */
const STORES: readonly (readonly [name: string, option: string, flag: string])[] = [
  ["store", "store", "--store"],
  // `idk store check URL`: the operand is the store.
  ["location", "url", "URL"],
  // A copy never takes its stores from variables or the file.
  ["from", "from", "--from"],
  ["to", "to", "--to"],
];

export interface Resolved {
  readonly values: RawSettings;
  /** Names of settings in messages, if they come from the file. */
  readonly labels: Readonly<Record<string, string>>;
  /** The settings set by a flag, a variable or the file. */
  readonly sources: Layer;
  /** The name of the store whose table applies. */
  readonly storeName: string | undefined;
  /** Undefined if there is none or it was not needed. */
  readonly config: Config | undefined;
}

/**
 * Resolves settings from flags, then the environment, then the store's table in the configuration
 * file, then its top level. Reads the file only if flags and variables leave something open.
 *
 * @param names the settings of the command
 * @throws Failure `usage` if the file is invalid or has no store of the given name
 */
export async function resolveSettings(
  invocation: Invocation,
  names: readonly string[],
): Promise<Resolved> {
  const { options, env } = invocation;
  const above = [flagLayer(invocation), environmentLayer(invocation)];
  const needed = names.some((name) => needsFile(name, above, options));
  const named = options["config"] !== undefined;
  const config =
    needed || named
      ? await loadConfig(options["config"], env)
      : names.includes("overrides") && firstOf(above, "store")?.origin.kind === "environment"
        ? // Needed for a note only, so an invalid file does not matter.
          await loadConfig(undefined, env).catch(() => undefined)
        : undefined;

  const values: Record<string, unknown> = {
    ...options,
    folders: userFolders(env),
    // The flag requests protection; the passphrase itself is never on a command line.
    protect: options["passphrase"],
    passphrase: env["IDK_PASSPHRASE"] || undefined,
    newPassphrase: env["IDK_NEW_PASSPHRASE"] || undefined,
  };
  const sources: Record<string, Sourced | undefined> = {};
  const labels: Record<string, string> = {};
  let entry: StoreEntry | undefined;
  let storeName: string | undefined;
  for (const [name, option, flag] of STORES) {
    const given = names.includes(name)
      ? storeText(name, option, flag, above, options, config)
      : undefined;
    values[name] = undefined;
    if (given === undefined) continue;
    sources[name] = given;
    const found = findStore(given.value, config);
    // No shell expands ~ in --store=~/x or in a variable's quotes.
    const url = found?.url.value ?? expandHome(given.value, env);
    values[name] = { url, env } satisfies StoreSource;
    if (found === undefined || config === undefined) continue;
    labels[name] = `store ${given.value} (${config.path}:${found.url.line})`;
    // For a copy, the table of the source applies, because reading needs keys.
    entry ??= found;
    storeName ??= given.value;
  }
  if (!names.some((name) => STORES.some(([setting]) => setting === name))) {
    // A command that opens no store still uses the keys of the selected store.
    const given = storeText("store", "store", "--store", above, options, config);
    entry = given && findStore(given.value, config);
  }

  if (names.includes("repository")) {
    values["repository"] = {
      pins: entry?.repository,
      table:
        config && storeName !== undefined ? { config: config.path, store: storeName } : undefined,
      env,
    } satisfies RepositorySource;
  }

  const layers = [
    ...above,
    ...(config === undefined
      ? []
      : [
          ...(entry === undefined ? [] : [fileLayer(entry, config)]),
          fileLayer(config.global, config),
        ]),
  ];
  for (const name of CONFIGURABLE) {
    const found = firstOf(layers, name);
    values[name] = found?.value;
    sources[name] = found;
    if (found?.origin.kind === "file") labels[name] = `${keyOf(name)} (${found.origin.where})`;
  }
  if (names.includes("overrides")) {
    const url = (values["store"] as StoreSource | undefined)?.url;
    const usual = defaultStore(config);
    const inFile = usual && config?.stores.get(usual.value);
    const endpoint = storeName === undefined ? undefined : endpointFromVariable(url, env);
    const store =
      endpoint === undefined
        ? (storeName ?? url)
        : `${storeName} at ${redactedUrl(endpoint.value)}`;
    values["overrides"] = overridesOf(invocation, config, store, [
      { used: sources["store"] && { ...sources["store"], value: url }, inFile: inFile?.url.value },
      { used: endpoint, inFile: null },
      ...(names.includes("recipients")
        ? [
            {
              used: sources["recipients"],
              inFile: (inFile?.recipients ?? config?.global.recipients)?.value,
            },
          ]
        : []),
    ]);
  }
  return { values, labels, sources, storeName, config };
}

function needsFile(name: string, above: readonly Layer[], options: RawSettings): boolean {
  const store = STORES.find(([setting]) => setting === name);
  if (store === undefined) {
    return CONFIGURABLE.some((key) => key === name) && firstOf(above, name) === undefined;
  }
  const given = storeText(...store, above, options, undefined)?.value;
  return given === undefined || isStoreName(given);
}

function storeText(
  name: string,
  option: string,
  flag: string,
  above: readonly Layer[],
  options: RawSettings,
  config: Config | undefined,
): Sourced<string> | undefined {
  const own = options[option];
  if (typeof own === "string") return sourced(own, "flag", flag);
  if (name === "from" || name === "to") return undefined;
  const given = firstOf(above, "store");
  if (typeof given?.value === "string") return { value: given.value, origin: given.origin };
  return defaultStore(config);
}

/** The default of the file, or else its only store. */
function defaultStore(config: Config | undefined): Sourced<string> | undefined {
  if (config === undefined) return undefined;
  const { path, default: chosen, stores } = config;
  if (chosen !== undefined) return sourced(chosen.value, "file", `${path}:${chosen.line}`);
  const [only, ...others] = stores;
  if (only === undefined || others.length > 0) return undefined;
  return sourced(only[0], "file", `${path}:${only[1].url.line}`);
}

/** The key of a setting in the file. */
export function keyOf(name: string): string {
  return name.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}
