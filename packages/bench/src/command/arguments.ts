import { Argument, Command, CommanderError, Option } from "commander";
import type { OptionValue, Suite } from "../suite.ts";
import {
  addSuiteOptions,
  booleanOption,
  numberOption,
  optionsOf,
  parseMegabytes,
  parseSizes,
  suiteOptions,
  withValues,
} from "./flags.ts";
import { Usage } from "./usage.ts";

/** Files to write; `-` is standard output. */
export interface OutputFiles {
  readonly json?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
}

export interface RunSettings extends OutputFiles {
  readonly suites: readonly Suite[];
  readonly quick: boolean;
  readonly verbose: boolean;
  /** An inconclusive target of CPU time fails the run. */
  readonly strict: boolean;
  /** Bytes. */
  readonly sizes?: readonly number[] | undefined;
  readonly iterations?: number | undefined;
  readonly seed: number;
  readonly store?: string | undefined;
  /** Below the prefix of the store. Empty, or ends with a slash. */
  readonly prefix: string;
  /** Milliseconds of round trip to add to requests to the object store. */
  readonly rtt?: number | undefined;
  /** A file with variables for this run. */
  readonly envFile?: string | undefined;
  /** A file, "none", or undefined for the committed one if it exists. */
  readonly baseline?: string | undefined;
  /** Why the baseline is replaced by the results of this run; undefined to compare with it. */
  readonly updateBaseline?: string | undefined;
  /** Options of single suites, by name. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** A parsed command line: what to print, or the run. */
export type Settings =
  | { readonly print: "help"; readonly text: string }
  | { readonly print: "list" | "schema" }
  | RunSettings;

/** What commander makes of the flags. */
type Flags = Partial<RunSettings> & {
  readonly [name in "list" | "jsonSchema" | "all"]?: boolean;
} & { readonly [name in "size" | "sizeMB"]?: readonly number[] };

const HELP = `
Compare two revisions: idk bench compare BASE HEAD [--help]

Object stores, for the suites that need one, and their variables:
  minio://[HOST[:PORT]]/BUCKET[/PREFIX]?tls=0   MINIO_ENDPOINT, MINIO_PORT, MINIO_USE_SSL,
                                                MINIO_ACCESS_KEY, MINIO_SECRET_KEY
  s3://BUCKET[/PREFIX]?endpoint=URL&region=R    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
                                                AWS_REGION
  b2://[BUCKET[/PREFIX]]?region=R               B2_ACCESS_KEY_ID, B2_SECRET_ACCESS_KEY,
                                                B2_BUCKET, B2_ENDPOINT, B2_REGION
  Without --store, suites use the server that the MINIO_… variables name, in a bucket that is
  created for the run and deleted afterwards. Without those variables, these suites are skipped.
  minio:// uses TLS, except for this machine.

Other variables: TEST_KEY, the identity of suites, by default a new one; IDK_BENCH_DIR, the folder
for their files. No file sets variables, except the one that --env-file names.

Exit codes:
  0    success
  1    a target was missed (except with --quick), a counter grew, a suite failed, or the native NaCl
       is missing; with --strict, also if a target of CPU time is inconclusive; if CI is set, also
       if a suite was skipped
  2    wrong usage
  130  interrupted

Examples:
  idk bench hash-perf ciphers --json report.json --html report.html
  idk bench sse-overhead --sizeMB 8 --iterations 50 --retries 5 --verbose true
  idk bench sse-overhead --store b2:// --env-file ~/b2.env
  idk bench --update-baseline "larger chunks: fewer requests, more memory"
  script/toxiproxy run script/minio run script/idk bench encryption-perf --rtt 50
`;

const BOOLEANS: readonly (readonly [flag: string, description: string])[] = [
  ["--quick", "few rounds and small sizes, to see that every suite works; judges no targets"],
  ["--all", "also run the suites that take minutes"],
  ["--strict", "fail if a target of CPU time is inconclusive"],
  ["--verbose", "print progress details to standard error"],
];

const DEFAULTS = { quick: false, verbose: false, strict: false, seed: 1, prefix: "" } as const;

/** @throws Usage */
export function readArguments(args: readonly string[], all: readonly Suite[]): Settings {
  let help = "";
  const program = createProgram(all);
  program.configureOutput({ writeOut: (text) => (help += text), outputError: () => {} });
  const declared = [...suiteOptions(all).values()];
  const booleans = declared.filter(({ kind }) => kind === "boolean").map(({ name }) => `--${name}`);
  try {
    const flags = new Set([...BOOLEANS.map(([flag]) => flag), ...booleans]);
    program.parse(withValues(args, flags), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { print: "help", text: help };
    throw new Usage(inOneLine(error.message), { cause: error });
  }
  const flags: Flags = program.opts();
  if (flags.list) return { print: "list" };
  if (flags.jsonSchema) return { print: "schema" };
  const names = program.processedArgs[0] as readonly string[];
  const settings: RunSettings = {
    ...DEFAULTS,
    ...flags,
    sizes: flags.sizeMB ?? flags.size,
    suites: all.filter(({ name, slow }) =>
      names.length === 0 ? flags.all || !slow : names.includes(name),
    ),
    options: optionsOf({ options: declared }, program.opts()),
  };
  checkTogether(settings);
  return settings;
}

function createProgram(suites: readonly Suite[]): Command {
  const suite = new Argument("[suite...]", "suites to run, as listed by --list")
    .argParser((name: string, chosen: readonly string[]) => {
      if (suites.some((suite) => suite.name === name)) return [...chosen, name];
      const known = suites.map((suite) => suite.name).join(", ");
      throw new Usage(`there is no suite "${name}"; there are ${known}`);
    })
    .default([], "all but the slow ones");
  const megabytes = new Option("--sizeMB <n>", "content sizes in megabytes of 1,000,000 bytes")
    .argParser((text) => parseMegabytes(text, "--sizeMB"))
    .conflicts("size");
  const sizes = (text: string): readonly number[] => parseSizes(text, "--size");
  const program = new Command("idk bench")
    .description("Measure @idk/storage against the limits of this machine, and check the targets.")
    .addArgument(suite)
    .option("--list", "list the suites and their options")
    .option("--size <sizes>", "content sizes, such as 64K,1MiB,10MB (K is 1024, KB 1000)", sizes)
    .addOption(megabytes)
    .addOption(numberOption("--iterations", "number of rounds, instead of each suite's default", 1))
    .addOption(numberOption("--seed", "seed for random choices", 0).default(1))
    .option("--store <url>", "object store for the suites that need one")
    .option("--prefix <prefix>", "prefix for objects, below the one in the store URL", readPrefix)
    .addOption(numberOption("--rtt", "milliseconds to add to each round trip to the store", 1))
    .option("--env-file <file>", "read variables that are not set from its lines NAME=VALUE")
    .option("--json <file>", "write the report with all samples; - for standard output")
    .option("--json-schema", "print the JSON Schema of the report")
    .option("--html <file>", "write a self-contained page with charts; - for standard output")
    .option("--markdown <file>", "write a summary for a CI job; - for standard output")
    .option(
      "--baseline <file>",
      "compare ratios and counters with this file, or with none (default: benchmarks/baseline.json of the repository)",
    )
    .option(
      "--update-baseline <reason>",
      "write the ratios and counters of this run to the baseline, with the reason",
      (text) => text.trim(),
    )
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .exitOverride();
  for (const [flag, description] of BOOLEANS) program.addOption(booleanOption(flag, description));
  addSuiteOptions(program, suites);
  return program;
}

/** @throws Usage if flags exclude each other */
function checkTogether({ suites, options, quick, ...flags }: RunSettings): void {
  const { baseline, updateBaseline, json, html, markdown } = flags;
  const files = [json, html, markdown].filter((file) => file !== undefined);
  if (files.includes("")) throw new Usage("an output file has an empty name");
  if (new Set(files).size < files.length) throw new Usage("two outputs name the same file");
  if (quick && (baseline !== undefined || updateBaseline !== undefined)) {
    throw new Usage("--quick is too imprecise for a baseline: remove one of these options");
  }
  if (updateBaseline === "" || (updateBaseline !== undefined && baseline === "none")) {
    throw new Usage("--update-baseline takes the reason, and a baseline to write to");
  }
  const taken = suiteOptions(suites);
  const useless = Object.keys(options).find((name) => !taken.has(name));
  if (useless === undefined) return;
  throw new Usage(`--${useless} does not apply to ${suites.map(({ name }) => name).join(", ")}`);
}

function readPrefix(text: string): string {
  const parts = text.split("/").filter((part) => part !== "");
  if (parts.every((part) => /^[\w.-]+$/u.test(part) && !/^\.+$/u.test(part))) {
    return parts.map((part) => `${part}/`).join("");
  }
  throw new Usage("--prefix takes only letters, digits, dots, dashes, underscores and slashes");
}

/** Joins the two lines `error: unknown option '--jsn'` and `(Did you mean --json?)`. */
export function inOneLine(message: string): string {
  return message.replace(/^error: /u, "").replace(/\s*\n\s*\(Did/u, " (did");
}
