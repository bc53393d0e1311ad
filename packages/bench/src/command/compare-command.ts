import { Command, CommanderError } from "commander";
import { type CompareSettings, compareCommand } from "../compare/compare.ts";
import { TASKS } from "../compare/round/task-list.ts";
import { inOneLine } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { booleanOption, numberOption, withValues } from "./flags.ts";
import { type RunStore, openRunStore } from "./run-store.ts";
import { reasonOf } from "./run-suites.ts";
import { chooseStore } from "./store-url.ts";
import { EXIT_CODES, Usage } from "./usage.ts";
import { checkWritable } from "./write-files.ts";

const HELP = `
Tasks:
${TASKS.map(({ name, title, backendKind }) => `  ${name.padEnd(16)}${title}${backendKind === "store" ? " (needs an object store)" : ""}`).join("\n")}

Exit codes:
  0 done   1 head is slower, or counts more   2 wrong usage   130 interrupted
`;

/**
 * `idk bench compare BASE HEAD`.
 *
 * @returns the exit code
 */
export async function runCompare(args: readonly string[], context: BenchContext): Promise<number> {
  const { stdout, stderr, signal } = context;
  const asked = readCompare(args);
  if ("help" in asked) {
    await stdout.print(asked.help);
    return EXIT_CODES.done;
  }
  const { base, head, url, options } = asked;
  await checkWritable([options.json, options.html, options.markdown]);
  const store = await openStore(url, options.tasks, context);
  const printed: Promise<void>[] = [];
  try {
    const { failures } = await compareCommand(
      { ...options, base, head, store: store?.access },
      {
        signal,
        print: (line) => void printed.push(stdout.print(`${line}\n`)),
        log: (line) => void stderr.write(`${line}\n`),
      },
    );
    await Promise.all(printed);
    return failures.length > 0 ? EXIT_CODES.failed : EXIT_CODES.done;
  } finally {
    await store?.close();
  }
}

interface Asked {
  readonly base: string;
  readonly head: string;
  /** Of the store. */
  readonly url?: string | undefined;
  readonly options: Omit<CompareSettings, "store" | "base" | "head">;
}

/** @throws Usage */
export function readCompare(args: readonly string[]): Asked | { readonly help: string } {
  let help = "";
  const program = createProgram((text) => {
    help += text;
  });
  try {
    program.parse(withValues(args, new Set(["--keep"])), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw new Usage(inOneLine(error.message), { cause: error });
    return { help };
  }
  const { store: url, ...options } = program.opts<Asked["options"] & { readonly store?: string }>();
  const [base, head] = program.processedArgs as [string, string];
  return { base, head, url, options };
}

/** Where a task needs one: the store that was given, or that the environment names if it is there. */
async function openStore(
  url: string | undefined,
  names: readonly string[] | undefined,
  { env, stderr }: BenchContext,
): Promise<RunStore | undefined> {
  const chosen = TASKS.filter(({ name }) => names === undefined || names.includes(name));
  const choice = chooseStore(url, env);
  if (choice.kind === "none" || !chosen.some(({ backendKind }) => backendKind === "store"))
    return undefined;
  try {
    return await openRunStore(choice);
  } catch (error) {
    if (url !== undefined) throw error;
    stderr.write(`${reasonOf(error)}\n`);
    return undefined;
  }
}

function createProgram(writeOut: (text: string) => void): Command {
  return new Command("idk bench compare")
    .description(
      "Compare two revisions of the repository: fresh processes of both in random alternating " +
        "order, until the interval of their ratio says something.",
    )
    .argument("<base>", "what git calls a revision: a branch, a tag, a commit")
    .argument("<head>", "the one that must not be slower")
    .option("--tasks <names>", "some of them only, such as put-memory,get-memory", readTasks)
    .addOption(numberOption("--rounds", "of both (default: 20)", 2))
    .addOption(numberOption("--max-rounds", "where those say nothing (default: 60)", 2))
    .addOption(numberOption("--warmups", "rounds that do not count (default: 2)", 0))
    .addOption(numberOption("--seed", "of the order (default: a random one)", 0))
    .option("--store <url>", "the object store, as in idk bench --help")
    .addOption(booleanOption("--keep", "leave the worktrees where they are"))
    .option("--json <file>", "write the comparison")
    .option("--html <file>", "write a page with charts, which needs no network")
    .option("--markdown <file>", "write the summary of a job")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .configureOutput({ writeOut, writeErr: () => {}, outputError: () => {} })
    .exitOverride();
}

function readTasks(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !TASKS.some((task) => task.name === name));
  if (unknown === undefined) return names;
  throw new Usage(
    `there is no task "${unknown}"; there are ${TASKS.map(({ name }) => name).join(", ")}`,
  );
}
