import type { Command } from "commander";
import { TOPICS } from "../command-line/overview.ts";
import { loadConfig } from "../config/load-config.ts";
import type { Environment } from "../invocation.ts";
import { type Candidate, completionsOf, type Values } from "./candidates.ts";
import { SCRIPTS } from "./scripts.ts";

/** The answer to a shell, as scripts.ts says it is. */
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
  const lines = candidates.map(({ word, meaning }) => `${word}\t${meaning}`);
  if (files) lines.push(":files");
  return lines.map((line) => `${line}\n`).join("");
}

const STORES: readonly Candidate[] = [
  { word: "s3://", meaning: "Amazon S3, and what speaks its protocol" },
  { word: "minio://", meaning: "MinIO" },
  { word: "b2://", meaning: "Backblaze B2" },
];

const listed = (words: readonly string[]): readonly Candidate[] =>
  words.map((word) => ({ word, meaning: "" }));

/** By the names that commander has for flags and operands. */
const WORDS: Readonly<Record<string, readonly Candidate[]>> = {
  compress: [
    { word: "zstd", meaning: "smaller" },
    { word: "lz4", meaning: "faster" },
    { word: "auto", meaning: "where it pays" },
    { word: "none", meaning: "as it is" },
  ],
  defaultSse: [
    { word: "AES256", meaning: "by keys of the provider" },
    { word: "aws:kms", meaning: "by keys of its key service" },
  ],
  chunkSize: listed(["256K", "512K", "1M", "2M", "4M", "8M", "16M"]),
  shell: listed(Object.keys(SCRIPTS)),
};

const FILES = new Set([
  "config",
  "dedupSecret",
  "done",
  "file",
  "fromFile",
  "identity",
  "output",
  "outputDir",
  "recipientsFile",
]);

/** A name in the configuration, the beginning of a URL, or a folder. */
const PLACES = new Set(["store", "from", "to", "url"]);

async function loadValues(
  program: Command,
  words: readonly string[],
  env: Environment,
): Promise<Values> {
  const stores = [...(await namedStores(configOf(words), env)), ...STORES];
  const { commands } = program;
  const known: Readonly<Record<string, readonly Candidate[]>> = {
    ...WORDS,
    topic: [
      ...commands.map((each) => ({ word: each.name(), meaning: each.summary() })),
      ...[...Object.keys(TOPICS), "man"].map((word) => ({ word, meaning: "a topic" })),
    ],
  };
  return (name) => ({
    candidates: PLACES.has(name) ? stores : (known[name] ?? []),
    files: PLACES.has(name) || FILES.has(name),
  });
}

/** What `--config` says in front of the cursor. */
function configOf(words: readonly string[]): string | undefined {
  const at = words.slice(0, -1).findLastIndex((word) => /^--config(?:=|$)/u.test(word));
  const word = words[at];
  return word === "--config" ? words[at + 1] : word?.slice("--config=".length);
}

/** A configuration that cannot be read is told of when a command runs, and not at a TAB. */
async function namedStores(
  file: string | undefined,
  env: Environment,
): Promise<readonly Candidate[]> {
  try {
    const config = await loadConfig(file, env);
    const names = [...(config?.stores.keys() ?? [])];
    return names.map((word) => ({ word, meaning: "of the configuration" }));
  } catch {
    return [];
  }
}
