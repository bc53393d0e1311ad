import { drawGrid, plain } from "../report/draw.ts";
import type { Suite } from "../suite.ts";
import { readArguments } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { runCommand } from "./run-command.ts";
import { reasonOf } from "./run-suites.ts";
import { EXIT_CODES, Interruption, Usage } from "./usage.ts";

/**
 * Runs one command line.
 *
 * @returns the exit code
 */
export async function benchCommand(
  args: readonly string[],
  context: BenchContext,
): Promise<number> {
  const { suites, signal, stdout, stderr } = context;
  try {
    if (args[0] === "compare") {
      const { runCompare } = await import("./compare-command.ts");
      return await runCompare(args.slice(1), context);
    }
    const settings = readArguments(args, suites);
    if (!("print" in settings)) return await runCommand(settings, context);
    const texts = {
      help: () => ("text" in settings ? settings.text : ""),
      list: () => listSuites(suites),
      schema: async () => (await import("../report/report.ts")).renderJsonSchema(),
    };
    await stdout.print(await texts[settings.print]());
    return EXIT_CODES.done;
  } catch (error) {
    // After an interruption, every other error is a consequence of it.
    const reason: unknown = signal.aborted ? signal.reason : error;
    stderr.write(`idk bench: ${reasonOf(reason)}\n`);
    if (reason instanceof Interruption) return reason.exitCode;
    return reason instanceof Usage ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}

/** The table that `--list` prints. */
function listSuites(suites: readonly Suite[]): string {
  const rows = suites.map(({ name, title, needsObjectStore, slow, options = [] }) => {
    const needs = [needsObjectStore && "an object store", slow && "minutes"].filter(Boolean);
    return [name, title, [...needs, ...options.map((option) => `--${option.name}`)].join(", ")];
  });
  const head = ["suite", "measures", "needs, options"];
  return `${drawGrid({ head, align: ["left", "left", "left"], rows }, plain)}\n`;
}
