import type { Command } from "commander";
import { TOPICS } from "../command-line/overview.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import type { Environment } from "../invocation.ts";
import { type Candidate, completionsOf, type Values } from "./candidates.ts";
import { SCRIPTS } from "./scripts.ts";

/** The output for a shell, in the format described in scripts.ts. */
export async function complete(
  program: Command,
  words: readonly string[],
  env: Environment,
): Promise<string> {
  const { candidates, files } = completionsOf(
    program,
    words,
    await loadValues(program, words, env),
  );
  const lines = candidates.map(({ word, description }) => `${word}\t${description}`);
  if (files) lines.push(":files");
  return lines.map((line) => `${line}\n`).join("");
}

const STORES: readonly Candidate[] = [
  { word: "s3://", description: "Amazon S3 or compatible" },
  { word: "minio://", description: "MinIO" },
  { word: "b2://", description: "Backblaze B2" },
];

const listed = (words: readonly string[]): readonly Candidate[] =>
  words.map((word) => ({ word, description: "" }));

/** By the names of flags and operands in commander. */
const WORDS: Readonly<Record<string, readonly Candidate[]>> = {
  compress: [
    { word: "zstd", description: "smaller" },
    { word: "lz4", description: "faster" },
    { word: "auto", description: "if it saves space" },
    { word: "none", description: "uncompressed" },
  ],
  overwrite: listed(["always", "if-changed", "never"]),
  gracePeriod: listed(["7d", "14d", "30d"]),
  period: listed(["14d", "30d"]),
  listen: listed(["127.0.0.1:9000", ":9000"]),
  readData: listed(["10%", "50%", "100%"]),
  defaultSse: [
    { word: "AES256", description: "the provider's keys" },
    { word: "aws:kms", description: "the provider's key service" },
  ],
  maxSize: listed(["1M", "100M", "1G", "10G"]),
  larger: listed(["1M", "100M", "1G"]),
  chunkSize: listed(["256K", "512K", "1M", "2M", "4M", "8M", "16M"]),
  expires: listed(["1h", "24h", "7d"]),
  since: listed(["1h", "24h", "7d"]),
  status: listed(["4xx", "5xx"]),
  format: listed(["har"]),
  shard: listed(["1/4", "1/16", "1/256"]),
  shell: listed(Object.keys(SCRIPTS)),
};

const FILES = new Set([
  "catalog",
  "config",
  "credentials",
  "dedupSecret",
  "done",
  "excludeFile",
  "filesFrom",
  "ownerKey",
  "file",
  "fromFile",
  "identity",
  "macKey",
  "output",
  "outputDir",
  "page",
  "path",
  "recipientsFile",
  "report",
  "target",
  "tlsCert",
  "tlsKey",
]);

/** Commands whose `--name` is one of snapshots. */
const NAMING = new Set(["backup", "status", "snapshots", "forget"]);

/** Take the name of a store, a URL or a folder. */
const STORE_ARGUMENTS = new Set(["store", "from", "to", "url"]);

async function loadValues(
  program: Command,
  words: readonly string[],
  env: Environment,
): Promise<Values> {
  const config = await configured(configOf(words), env);
  const stores = [
    ...[...(config?.stores.keys() ?? [])].map((word) => ({ word, description: CONFIGURED })),
    ...STORES,
  ];
  const names = namesIn(config);
  const snapshots = [...names, { word: "latest", description: "the newest of all" }];
  const { commands } = program;
  const command = words.find((word) => commands.some((each) => each.name() === word)) ?? "";
  const known: Readonly<Record<string, readonly Candidate[]>> = {
    ...WORDS,
    snapshot: snapshots,
    before: snapshots,
    after: snapshots,
    name: NAMING.has(command) ? names : [],
    topic: [
      ...commands.map((each) => ({ word: each.name(), description: each.summary() })),
      ...[...Object.keys(TOPICS), "man"].map((word) => ({ word, description: "a topic" })),
    ],
  };
  return (name) => ({
    candidates: STORE_ARGUMENTS.has(name) ? stores : (known[name] ?? []),
    // In `ls SNAPSHOT PATH`, the path is one of the snapshot.
    files: STORE_ARGUMENTS.has(name) || (FILES.has(name) && !(command === "ls" && name === "path")),
  });
}

/** The value of `--config` before the cursor. */
function configOf(words: readonly string[]): string | undefined {
  const at = words.slice(0, -1).findLastIndex((word) => /^--config(?:=|$)/u.test(word));
  const word = words[at];
  return word === "--config" ? words[at + 1] : word?.slice("--config=".length);
}

const CONFIGURED = "from the configuration";

/** Ignores an invalid configuration, which the command itself will report. */
async function configured(file: string | undefined, env: Environment): Promise<Config | undefined> {
  return loadConfig(file, env).catch(() => undefined);
}

/** The names of snapshots that this machine may write, except patterns. */
function namesIn(config: Config | undefined): readonly Candidate[] {
  const entries = [...(config?.stores.values() ?? [])];
  const names = entries.flatMap(({ repository }) => repository?.names?.value ?? []);
  return [...new Set(names)].flatMap((word) =>
    word.includes("*") ? [] : [{ word, description: CONFIGURED }],
  );
}
