import { nearest } from "@idk/storage/url";
import type { Environment } from "../invocation.ts";
import { looksLikeSecret } from "../output/secrets.ts";
import {
  type Config,
  isStoreName,
  type Located,
  type RepositoryEntry,
  type StoreEntry,
} from "./config.ts";
import { parseToml, type TomlEntry, TomlError } from "./toml.ts";
import {
  chainPatterns,
  chunkLength,
  compress,
  filePath,
  identities,
  identityCommand,
  ownerKey,
  period,
  type ReadValue,
  recipients,
  repositoryId,
  storeUrl,
  text,
  workerCount,
  yesOrNo,
} from "./values.ts";

interface Key {
  /** The property it sets. */
  readonly name: keyof StoreEntry | keyof RepositoryEntry | "default";
  readonly read: ReadValue<unknown>;
}

/** Allowed at the top level, for all stores, and in the table of a store. */
const SHARED: readonly (readonly [string, Key])[] = [
  ["identity", { name: "identity", read: identities }],
  ["identity-command", { name: "identityCommand", read: identityCommand }],
  ["recipients", { name: "recipients", read: recipients }],
  ["compress", { name: "compress", read: compress }],
  ["chunk-size", { name: "chunkSize", read: chunkLength }],
  ["padding", { name: "padding", read: yesOrNo }],
  ["dedup-secret", { name: "dedupSecret", read: filePath }],
  ["workers", { name: "workers", read: workerCount }],
  ["page-url", { name: "pageUrl", read: text }],
];
const TOP: ReadonlyMap<string, Key> = new Map([
  ["default", { name: "default", read: text }],
  ...SHARED,
]);
const OF_STORE: ReadonlyMap<string, Key> = new Map([
  ["url", { name: "url", read: storeUrl }],
  ...SHARED,
]);

/** The table in which the repository of a store's snapshots is pinned. */
const REPOSITORY = "repository";
const OF_REPOSITORY: ReadonlyMap<string, Key> = new Map([
  ["id", { name: "id", read: repositoryId }],
  ["owner", { name: "owner", read: ownerKey }],
  ["grace-period", { name: "gracePeriod", read: period }],
  ["writer", { name: "writer", read: filePath }],
  ["names", { name: "names", read: chainPatterns }],
]);
const PINNED = ["id", "owner", "grace-period"] as const;

type Section = Record<string, Located<unknown>>;

/**
 * Parses and validates the text of a configuration file.
 *
 * @param file its absolute path; relative paths in it start from its folder
 * @throws TomlError with a message that names the key and never repeats its value
 */
export function readConfig(source: string, file: string, env: Environment): Config {
  const top: Section = {};
  const stores = new Map<string, StoreSections>();
  for (const entry of parseToml(source)) {
    const [first, name, ...rest] = entry.key;
    if (first !== "store") {
      put(top, entry, TOP, entry.key.join("."), file, env);
      continue;
    }
    if (name === undefined) {
      if (entry.value === undefined) continue;
      throw new TomlError(
        'store is a table for each store: [store.work] with url = "…"',
        entry.line,
      );
    }
    if (!isStoreName(name)) {
      throw new TomlError(
        "the name of a store may only have letters, digits, _, - and .",
        entry.line,
      );
    }
    const sections = stores.get(name) ?? { line: entry.line, section: {} };
    const { section } = sections;
    if (!stores.has(name)) stores.set(name, sections);
    if (rest[0] === REPOSITORY) {
      sections.repository ??= { line: entry.line, section: {} };
      const key = rest.slice(1).join(".");
      const isTable = key === "" && entry.value === undefined;
      if (!isTable) put(sections.repository.section, entry, OF_REPOSITORY, key, file, env);
    } else if (rest.length > 0) put(section, entry, OF_STORE, rest.join("."), file, env);
    else if (entry.value !== undefined) {
      throw new TomlError(`store.${name} is a table: [store.${name}] with url = "…"`, entry.line);
    }
  }
  for (const [name, { line, section, repository }] of stores) {
    if (section["url"] === undefined) throw new TomlError(`[store.${name}] has no url`, line);
    const missing = PINNED.find(
      (key) => repository && !(OF_REPOSITORY.get(key)!.name in repository.section),
    );
    if (missing === undefined) continue;
    throw new TomlError(`[store.${name}.${REPOSITORY}] has no ${missing}`, repository!.line);
  }
  const { default: chosen, ...global } = top;
  const config: Config = {
    path: file,
    default: chosen as Located<string> | undefined,
    global,
    stores: new Map(
      Array.from(stores, ([name, { section, repository }]) => [
        name,
        {
          ...(section as unknown as StoreEntry),
          ...(repository && {
            repository: {
              ...(repository.section as unknown as RepositoryEntry),
              line: repository.line,
            },
          }),
        },
      ]),
    ),
  };
  checkDefault(config);
  return config;
}

/** The sections of one store, and the lines of their first mentions. */
interface StoreSections {
  readonly line: number;
  readonly section: Section;
  repository?: { readonly line: number; readonly section: Section };
}

function put(
  section: Section,
  { value, line }: TomlEntry,
  keys: ReadonlyMap<string, Key>,
  name: string,
  file: string,
  env: Environment,
): void {
  const key = keys.get(name);
  if (key === undefined) throw new TomlError(unknownKey(name, value === undefined, keys), line);
  if (value === undefined) throw new TomlError(`${name} takes a value, not a table`, line);
  try {
    section[key.name] = { value: key.read(value, { file, line, env }), line };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new TomlError(`${name} ${error.message}`, line);
  }
}

function unknownKey(name: string, table: boolean, keys: ReadonlyMap<string, Key>): string {
  if (looksLikeSecret(name)) return "has a key that looks like a secret";
  const guess = nearest(name, table ? ["store"] : [...keys.keys()]);
  if (guess !== undefined) return `unknown key ${name} (did you mean ${guess}?)`;
  if (table) return `unknown table ${name} (a store is [store.NAME])`;
  if (name === "url") return "url belongs to a store: [store.NAME] above it";
  return `unknown key ${name}; keys are ${[...keys.keys()].join(", ")}`;
}

function checkDefault({ default: chosen, stores }: Config): void {
  if (chosen === undefined || stores.has(chosen.value)) return;
  if (looksLikeSecret(chosen.value)) {
    throw new TomlError("default looks like a secret key, not the name of a store", chosen.line);
  }
  const guess = nearest(chosen.value, [...stores.keys()]);
  const hint = guess === undefined ? "" : ` (did you mean ${guess}?)`;
  const { length } = chosen.value;
  const named = isStoreName(chosen.value) && length <= NAME_SHOWN_MAX ? `: ${chosen.value}` : "";
  throw new TomlError(`default does not name a store in this file${named}${hint}`, chosen.line);
}

/** Longer text may be a secret in the wrong place, and is not repeated. */
const NAME_SHOWN_MAX = 32;
