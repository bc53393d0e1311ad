import { Command } from "commander";
import { checkOut } from "../compare/checkouts.ts";
import { chooseTasks, comparisonSuite } from "../compare/compare.ts";
import type { Plan } from "../compare/gate.ts";
import { TASKS } from "../compare/round/task-list.ts";
import { DEFAULTS, type RunSettings } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { booleanOption, numberOption, parseWith } from "./flags.ts";
import { checkWritable, runCommand } from "./run-command.ts";
import { chooseStore } from "./store-url.ts";
import { EXIT_CODES, Usage } from "./usage.ts";

const HELP = `
Tasks:
${TASKS.map(({ name, title, backendKind }) => `  ${name.padEnd(16)}${title}${backendKind === "store" ? " (needs an object store)" : ""}`).join("\n")}

Exit codes:
  0    success
  1    the head is worse, or with --strict, the CPU time of a task is inconclusive
  2    wrong usage
  130  interrupted
`;

interface CompareFlags
  extends Plan, Pick<RunSettings, "rtt" | "seed" | "store" | "json" | "html" | "markdown"> {
  readonly base: string;
  readonly head: string;
  readonly strict?: boolean;
  readonly tasks?: readonly string[];
}

/**
 * `idk bench compare BASE HEAD`: a run of one suite.
 *
 * @returns the exit code
 * @throws Usage; whatever a run throws
 */
export async function runCompare(args: readonly string[], context: BenchContext): Promise<number> {
  const { stdout, stderr, env, signal } = context;
  const given = readCompare(args);
  if ("help" in given) {
    await stdout.print(given.help);
    return EXIT_CODES.done;
  }
  const { base, head, tasks: names, pairs, maxPairs, ...flags } = given;
  await checkWritable([flags.json, flags.html, flags.markdown]);
  const tasks = chooseTasks(names, flags.rtt);
  const overStore = tasks.filter(({ backendKind }) => backendKind === "store");
  const choice = chooseStore(flags.store, env);
  if (choice.kind === "none" && overStore.length === tasks.length) {
    throw new Usage(`nothing could be compared: ${choice.reason}`);
  }
  const log = (line: string): void => void stderr.write(`${line}\n`);
  using checkouts = await checkOut({ repository: process.cwd(), base, head, signal, log });
  const plan = { pairs, maxPairs: Math.max(pairs, maxPairs) };
  const needsObjectStore = choice.kind !== "none" && overStore.length > 0;
  const suites = [comparisonSuite(checkouts, tasks, plan, needsObjectStore)];
  const run: RunSettings = { ...DEFAULTS, suites, verbose: true, baseline: "none", ...flags };
  const describeRun: BenchContext["describeRun"] = async (...given) => ({
    ...(await context.describeRun(...given)),
    revision: checkouts.head.commit,
  });
  return await runCommand(run, { ...context, describeRun });
}

/** @throws Usage */
export function readCompare(args: readonly string[]): CompareFlags | { readonly help: string } {
  const program = createProgram();
  const help = parseWith(program, args);
  if (help !== undefined) return { help };
  const [base, head] = program.processedArgs as [string, string];
  return { ...program.opts<Omit<CompareFlags, "base" | "head">>(), base, head };
}

function createProgram(): Command {
  const pairs = numberOption("--pairs", "pairs of processes before the first verdict", 1);
  const most = numberOption("--max-pairs", "pairs at most, while it is inconclusive", 1);
  const rtt = numberOption("--rtt", "milliseconds to add to each round trip to the store", 1);
  const seed = numberOption("--seed", "seed for the order of the two sides", 0);
  return new Command("idk bench compare")
    .description(
      "Compare two revisions of the repository in pairs of processes whose work alternates, until the " +
        "confidence intervals of CPU time, elapsed time and peak memory are conclusive.",
    )
    .argument("<base>", "base revision: a branch, a tag or a commit")
    .argument("<head>", "revision that must not be worse than the base")
    .option(
      "--tasks <names>",
      "tasks to run, such as put-memory,get-memory (default: all)",
      (text) => text.split(",").map((name) => name.trim()),
    )
    .addOption(pairs.default(6))
    .addOption(most.default(24))
    .addOption(booleanOption("--strict", "fail if the CPU time of a task is inconclusive"))
    .addOption(rtt)
    .addOption(seed.default(1))
    .option("--store <url>", "object store, as in idk bench --help")
    .option("--json <file>", "write the report with all samples; - for standard output")
    .option("--html <file>", "write a self-contained page; - for standard output")
    .option("--markdown <file>", "write a summary for a CI job; - for standard output")
    .addHelpText("after", HELP);
}
