import { Command } from "commander";
import { type CompareSettings, chooseTasks, compareCommand } from "../compare/compare.ts";
import { TASKS, type TaskInfo } from "../compare/round/task-list.ts";
import { taskAnnotation } from "../report/annotations.ts";
import type { BenchContext } from "./context.ts";
import { booleanOption, numberOption, parseWith } from "./flags.ts";
import { checkWritable } from "./run-command.ts";
import { type RunStore, openRunStore } from "./run-store.ts";
import { chooseStore } from "./store-url.ts";
import { EXIT_CODES, reasonOf } from "./usage.ts";

const HELP = `
Tasks:
${TASKS.map(({ name, title, backendKind }) => `  ${name.padEnd(16)}${title}${backendKind === "store" ? " (needs an object store)" : ""}`).join("\n")}

Exit codes:
  0    success
  1    the head is worse, or with --strict, the CPU time of a task is inconclusive
  2    wrong usage
  130  interrupted
`;

/**
 * `idk bench compare BASE HEAD`.
 *
 * @returns the exit code
 */
export async function runCompare(args: readonly string[], context: BenchContext): Promise<number> {
  const { stdout, stderr, env, signal } = context;
  const parsed = readCompare(args);
  if ("help" in parsed) {
    await stdout.print(parsed.help);
    return EXIT_CODES.done;
  }
  const { base, head, url, options } = parsed;
  await checkWritable([options.json, options.html, options.markdown]);
  const store = await openStore(url, chooseTasks(options.tasks, options.rtt), context);
  const printed: Promise<void>[] = [];
  try {
    const { failures, warnings } = await compareCommand(
      { ...options, base, head, store: store?.access },
      {
        signal,
        print: (line) => void printed.push(stdout.print(`${line}\n`)),
        log: (line) => void stderr.write(`${line}\n`),
      },
    );
    await Promise.all(printed);
    if (env["GITHUB_ACTIONS"] === "true") {
      for (const text of failures) stderr.write(`${taskAnnotation("failure", text)}\n`);
      for (const text of warnings) stderr.write(`${taskAnnotation("warning", text)}\n`);
    }
    return failures.length > 0 ? EXIT_CODES.failed : EXIT_CODES.done;
  } finally {
    await store?.close();
  }
}

interface CompareArguments {
  readonly base: string;
  readonly head: string;
  /** The URL of the store. */
  readonly url?: string | undefined;
  readonly options: Omit<CompareSettings, "store" | "base" | "head">;
}

/** @throws Usage */
export function readCompare(args: readonly string[]): CompareArguments | { readonly help: string } {
  const program = createProgram();
  const help = parseWith(program, args);
  if (help !== undefined) return { help };
  const { store: url, ...options } = program.opts<
    CompareArguments["options"] & { readonly store?: string }
  >();
  const [base, head] = program.processedArgs as [string, string];
  return { base, head, url, options };
}

/**
 * Opens the store if a task needs one: the one at the URL, or the server that the environment names.
 * The latter may be down; its tasks are then skipped.
 */
async function openStore(
  url: string | undefined,
  tasks: readonly TaskInfo[],
  { env, stderr }: BenchContext,
): Promise<RunStore | undefined> {
  const choice = chooseStore(url, env);
  if (choice.kind === "none" || !tasks.some(({ backendKind }) => backendKind === "store")) {
    return undefined;
  }
  try {
    return await openRunStore(choice);
  } catch (error) {
    if (url !== undefined) throw error;
    stderr.write(`${reasonOf(error)}\n`);
    return undefined;
  }
}

function createProgram(): Command {
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
      readTasks,
    )
    .addOption(
      numberOption("--pairs", "pairs of processes before the first verdict (default: 6)", 1),
    )
    .addOption(
      numberOption("--max-pairs", "pairs at most, if the result is inconclusive (default: 24)", 1),
    )
    .addOption(booleanOption("--strict", "fail if the CPU time of a task is inconclusive"))
    .addOption(
      numberOption(
        "--rtt",
        "milliseconds by which to lengthen the round trip to the store; needs script/toxiproxy run",
        1,
      ),
    )
    .addOption(numberOption("--seed", "seed for the order (default: random)", 0))
    .option("--store <url>", "object store, as in idk bench --help")
    .addOption(booleanOption("--keep", "keep the worktrees"))
    .option("--json <file>", "write the comparison; - for standard output")
    .option("--html <file>", "write a self-contained page with charts; - for standard output")
    .option("--markdown <file>", "write a summary for a CI job; - for standard output")
    .addHelpText("after", HELP);
}

function readTasks(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  chooseTasks(names);
  return names;
}
