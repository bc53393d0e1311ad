import { Argument, Command, Option } from "commander";
import { drawGrid, plain } from "../report/draw.ts";
import type { OptionValue, Suite } from "../suite.ts";
import {
  booleanOption,
  numberOption,
  parseMegabytes,
  parseRate,
  parseSizes,
  parseWith,
} from "./flags.ts";
import { Usage } from "./usage.ts";

export interface RunSettings {
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
  /** Bytes per second, in each direction, of the line to the object store. */
  readonly rate?: number | undefined;
  readonly envFile?: string | undefined;
  /** Files to write; `-` is standard output. */
  readonly json?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
  /** A file, "none", or undefined for the committed one if it exists. */
  readonly baseline?: string | undefined;
  /** Why the baseline is replaced by the results of this run; undefined to compare with it. */
  readonly updateBaseline?: string | undefined;
  /** Options of single suites, by name. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** A parsed command line: the run, or what to print. */
export type Settings = RunSettings | { readonly text: () => string | Promise<string> };

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
  1    a target was missed (except with --quick), a counter changed, a suite failed, or the native
       NaCl is missing; with --strict, also if a target is inconclusive, except of elapsed time; if CI
       is set, also if a suite was skipped
  2    wrong usage
  130  interrupted

Examples:
  idk bench hash-perf ciphers --json report.json --html report.html
  idk bench sse-overhead --sizeMB 8 --iterations 50 --retries 5 --verbose true
  idk bench sse-overhead --store b2:// --env-file ~/b2.env
  idk bench --update-baseline "larger chunks: fewer requests, more memory"
  script/toxiproxy run script/minio run script/idk bench encryption-perf --rtt 50
  script/minio run script/idk bench streaming-throughput --rate 100mbit --size 10MB
`;

export const DEFAULTS: Omit<RunSettings, "suites"> = {
  quick: false,
  verbose: false,
  strict: false,
  seed: 1,
  prefix: "",
  options: {},
};

/** @throws Usage */
export function readArguments(args: readonly string[], all: readonly Suite[]): Settings {
  const program = createProgram(all);
  const help = parseWith(program, args);
  if (help !== undefined) return { text: () => help };
  const flags: Flags = program.opts();
  if (flags.list) return { text: () => listSuites(all) };
  if (flags.jsonSchema) {
    return { text: async () => (await import("../report/report.ts")).renderJsonSchema() };
  }
  const names = program.processedArgs[0] as readonly string[];
  const suites = all.filter(({ name, slow }) =>
    names.length === 0 ? flags.all || !slow : names.includes(name),
  );
  const given = program.opts<Record<string, OptionValue>>();
  const options: Record<string, OptionValue> = {};
  for (const suite of all) {
    for (const { name } of suite.options ?? []) {
      if (given[name] === undefined) continue;
      if (!suites.includes(suite)) {
        throw new Usage(
          `--${name} does not apply to ${suites.map((each) => each.name).join(", ")}`,
        );
      }
      options[name] = given[name];
    }
  }
  const sizes = flags.sizeMB ?? flags.size;
  const settings = { ...DEFAULTS, ...flags, sizes, suites, options };
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
    .option(
      "--rate <rate>",
      "what the line to the store lets through in each direction, such as 100mbit",
      (text) => parseRate(text, "--rate"),
    )
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
    .addOption(
      booleanOption(
        "--quick",
        "few rounds and small sizes, to see that every suite works; judges no targets",
      ),
    )
    .addOption(booleanOption("--all", "also run the suites that take minutes"))
    .addOption(
      booleanOption("--strict", "fail if a target is inconclusive, except of elapsed time"),
    )
    .addOption(booleanOption("--verbose", "print progress details to standard error"))
    .addHelpText("after", HELP);
  for (const { name: suite, options = [] } of suites) {
    for (const { name, kind, description } of options) {
      const [flag, text] = [`--${name}`, `${suite}: ${description}`];
      const option = {
        boolean: () => booleanOption(flag, text),
        number: () => numberOption(flag, text, 0),
        text: () => new Option(`${flag} <text>`, text),
      }[kind]();
      program.addOption(option.helpGroup("Options of single suites:"));
    }
  }
  return program;
}

function listSuites(suites: readonly Suite[]): string {
  const rows = suites.map(({ name, title, needsObjectStore, slow, options = [] }) => {
    const needs = [needsObjectStore && "an object store", slow && "minutes"].filter(Boolean);
    return [name, title, [...needs, ...options.map((option) => `--${option.name}`)].join(", ")];
  });
  const head = ["suite", "measures", "needs, options"];
  return `${drawGrid({ head, align: ["left", "left", "left"], rows }, plain)}\n`;
}

/** @throws Usage if flags exclude each other */
function checkTogether(settings: RunSettings): void {
  const { quick, baseline, updateBaseline, json, html, markdown } = settings;
  const files = [json, html, markdown].filter((file) => file !== undefined);
  if (files.includes("")) throw new Usage("an output file has an empty name");
  if (new Set(files).size < files.length) throw new Usage("two outputs name the same file");
  if (quick && (baseline !== undefined || updateBaseline !== undefined)) {
    throw new Usage("--quick is too imprecise for a baseline: remove one of these options");
  }
  if (updateBaseline === "" || (updateBaseline !== undefined && baseline === "none")) {
    throw new Usage("--update-baseline takes the reason, and a baseline to write to");
  }
  if (updateBaseline !== undefined && !hasDefaults(settings)) {
    throw new Usage("--update-baseline takes no sizes, rounds, --rtt, --rate or options of suites");
  }
}

/** Whether the run measures what baselines are made with. */
export function hasDefaults({ sizes, iterations, rtt, rate, options }: RunSettings): boolean {
  return (sizes ?? iterations ?? rtt ?? rate) === undefined && Object.keys(options).length === 0;
}

function readPrefix(text: string): string {
  const parts = text.split("/").filter((part) => part !== "");
  if (parts.every((part) => /^[\w.-]+$/u.test(part) && !/^\.+$/u.test(part))) {
    return parts.map((part) => `${part}/`).join("");
  }
  throw new Usage("--prefix takes only letters, digits, dots, dashes, underscores and slashes");
}
