import { Argument, Command, CommanderError, Option } from "commander";
import type { OptionValue, Suite } from "../suite.ts";
import {
  addSuiteOptions,
  booleanOption,
  numberOption,
  parseMegabytes,
  parseSizes,
  readSuiteOptions,
  suiteOptions,
  withValues,
} from "./flags.ts";
import { Usage } from "./usage.ts";

/** A parsed command line. */
export type Settings =
  | { readonly action: "help"; readonly text: string }
  | { readonly action: "list" }
  | { readonly action: "json-schema" }
  | ({ readonly action: "run" } & RunSettings);

export interface RunSettings {
  readonly suites: readonly Suite[];
  readonly quick: boolean;
  readonly verbose: boolean;
  /** Bytes. */
  readonly sizes?: readonly number[] | undefined;
  readonly iterations?: number | undefined;
  readonly seed: number;
  readonly store?: string | undefined;
  /** Below the prefix of the store. Empty, or ends with a slash. */
  readonly prefix: string;
  /** Options of single suites, by name. */
  readonly options: Readonly<Record<string, OptionValue>>;
  readonly files: OutputFiles;
  /** A file, "none", or undefined for the committed one if it exists. */
  readonly baseline?: string | undefined;
  /** Why the baseline is replaced by the results of this run; undefined to compare with it. */
  readonly updateBaseline?: string | undefined;
  /** An inconclusive target of CPU time fails the run. */
  readonly strict: boolean;
  /** Milliseconds of round trip to add to requests to the object store. */
  readonly rtt?: number | undefined;
}

/** Files to write; `-` is standard output. */
export interface OutputFiles {
  readonly json?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
}

const HELP = `
Compare two revisions: idk bench compare BASE HEAD [--help]

Object stores, for the suites that need one:
  minio://[HOST[:PORT]]/BUCKET[/PREFIX]?tls=0   MINIO_ENDPOINT, MINIO_PORT, MINIO_USE_SSL,
                                                MINIO_ACCESS_KEY, MINIO_SECRET_KEY
  s3://BUCKET[/PREFIX]?endpoint=URL&region=R    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
                                                AWS_REGION
  Without --store, suites use the server that the MINIO_… variables name, in a bucket that is
  created for the run and deleted afterwards. Without those variables, these suites are skipped.
  No file of the current folder sets variables. minio:// uses TLS, except for this machine.

Exit codes:
  0    success
  1    a target was missed (except with --quick), a counter grew, a suite failed, or the native NaCl
       is missing; with --strict, also if a target of CPU time is inconclusive; if CI is set, also
       if a suite was skipped
  2    wrong usage
  130  interrupted

Examples:
  idk bench hash-perf ciphers --json report.json --html report.html
  idk bench sse-overhead --sizeMB 8 --iterations 50 --verbose true
  idk bench --update-baseline "larger chunks: fewer requests, more memory"
  script/toxiproxy run script/minio run script/idk bench encryption-perf --rtt 50
  idk bench --quick --markdown - >> "$GITHUB_STEP_SUMMARY"
`;

/** @throws Usage */
export function readArguments(args: readonly string[], suites: readonly Suite[]): Settings {
  let help = "";
  const program = createProgram(suites, (text) => {
    help += text;
  });
  const booleans = [...suiteOptions(suites).values()].filter(({ kind }) => kind === "boolean");
  const flags = new Set([
    "--quick",
    "--verbose",
    "--strict",
    "--all",
    ...booleans.map(({ name }) => `--${name}`),
  ]);
  try {
    program.parse(withValues(args, flags), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { action: "help", text: help };
    throw new Usage(inOneLine(error.message), { cause: error });
  }
  const values: Readonly<Record<string, unknown>> = program.opts();
  if (values["list"]) return { action: "list" };
  if (values["jsonSchema"]) return { action: "json-schema" };
  const names = program.processedArgs[0] as readonly string[];
  const all = values["all"] === true;
  const chosen = suites.filter(({ name, slow }) =>
    names.length === 0 ? all || !slow : names.includes(name),
  );
  return { action: "run", ...readRun(values, suites, chosen) };
}

function createProgram(suites: readonly Suite[], writeOut: (text: string) => void): Command {
  const program = new Command("idk bench")
    .description("Measure @idk/storage against the limits of this machine, and check the targets.")
    .addArgument(
      new Argument("[suite...]", "suites to run, as listed by --list")
        .argParser((name: string, chosen: readonly string[]) => {
          if (suites.some((suite) => suite.name === name)) return [...chosen, name];
          const known = suites.map((suite) => suite.name).join(", ");
          throw new Usage(`there is no suite "${name}"; there are ${known}`);
        })
        .default([], "all but the slow ones"),
    )
    .option("--list", "list the suites and their options")
    .addOption(booleanOption("--quick", "run every suite once, with few rounds and small sizes"))
    .option(
      "--size <sizes>",
      "content sizes, such as 64K,1MiB,10MB (K and KiB are 1024, KB is 1000)",
    )
    .addOption(
      new Option("--sizeMB <n>", "content sizes in megabytes of 1,000,000 bytes").conflicts("size"),
    )
    .addOption(numberOption("--iterations", "number of rounds, instead of each suite's default", 1))
    .addOption(numberOption("--seed", "seed for random choices", 0).default(1))
    .option("--store <url>", "object store for the suites that need one")
    .option("--prefix <prefix>", "prefix for objects, below the prefix in the store URL")
    .addOption(booleanOption("--verbose", "print progress details to standard error"))
    .option("--json <file>", "write the report with all samples; - for standard output")
    .option("--json-schema", "print the JSON Schema of the report")
    .option("--html <file>", "write a self-contained page with charts; - for standard output")
    .option("--markdown <file>", "write a summary for a CI job; - for standard output")
    .option(
      "--baseline <file>",
      "compare ratios and counters with this file; none to compare with nothing (default: benchmarks/baseline.json of the repository)",
    )
    .option(
      "--update-baseline <reason>",
      "write the ratios and counters of this run to the baseline, and why",
    )
    .addOption(booleanOption("--strict", "fail if a target of CPU time is inconclusive"))
    .addOption(booleanOption("--all", "also run the suites that take minutes"))
    .addOption(
      numberOption("--rtt", "milliseconds of round trip to add to requests to the store", 1),
    )
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .configureOutput({ writeOut, writeErr: () => {}, outputError: () => {} })
    .exitOverride();
  addSuiteOptions(program, suites);
  return program;
}

function readRun(
  values: Readonly<Record<string, unknown>>,
  all: readonly Suite[],
  suites: readonly Suite[],
): RunSettings {
  const text = (name: string): string | undefined => values[name] as string | undefined;
  const quick = values["quick"] === true;
  const [baseline, updateBaseline] = [text("baseline"), text("updateBaseline")?.trim()];
  if (quick && (baseline !== undefined || updateBaseline !== undefined)) {
    throw new Usage(
      "--quick is too imprecise for a baseline: remove --quick, or the baseline options",
    );
  }
  if (updateBaseline === "" || (updateBaseline !== undefined && baseline === "none")) {
    throw new Usage("--update-baseline takes the reason, and a baseline to write to");
  }
  return {
    suites,
    quick,
    verbose: values["verbose"] === true,
    sizes: readSizes(text("size"), text("sizeMB")),
    iterations: values["iterations"] as number | undefined,
    seed: values["seed"] as number,
    store: text("store"),
    prefix: readPrefix(text("prefix") ?? ""),
    options: readSuiteOptions(values, all, suites),
    files: readFiles({ json: text("json"), html: text("html"), markdown: text("markdown") }),
    baseline,
    updateBaseline,
    strict: values["strict"] === true,
    rtt: values["rtt"] as number | undefined,
  };
}

function readSizes(size: string | undefined, megabytes: string | undefined): number[] | undefined {
  if (megabytes !== undefined) return parseMegabytes(megabytes, "--sizeMB");
  return size === undefined ? undefined : parseSizes(size, "--size");
}

function readFiles(files: OutputFiles): OutputFiles {
  const names = Object.values(files).filter((file) => file !== undefined);
  if (names.includes("")) throw new Usage("an output file has an empty name");
  if (new Set(names).size < names.length) throw new Usage("two outputs name the same file");
  return files;
}

function readPrefix(text: string): string {
  const parts = text.split("/").filter((part) => part !== "");
  if (!parts.every((part) => /^[\w.-]+$/u.test(part) && !/^\.+$/u.test(part))) {
    throw new Usage(
      "--prefix may only contain letters, digits, dots, dashes, underscores and slashes",
    );
  }
  return parts.map((part) => `${part}/`).join("");
}

/** Joins the two lines `error: unknown option '--jsn'` and `(Did you mean --json?)`. */
export function inOneLine(message: string): string {
  return message.replace(/^error: /u, "").replace(/\s*\n\s*\(Did/u, " (did");
}
