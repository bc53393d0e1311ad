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
  try {
    if (args[0] === "compare") {
      const { runCompare } = await import("./compare-command.ts");
      return await runCompare(args.slice(1), context);
    }
    const settings = readArguments(args, context.suites);
    switch (settings.action) {
      case "help":
        await context.stdout.print(settings.text);
        return EXIT_CODES.done;
      case "list":
        await context.stdout.print(listSuites(context.suites));
        return EXIT_CODES.done;
      case "json-schema":
        await context.stdout.print((await import("../report/schema.ts")).renderJsonSchema());
        return EXIT_CODES.done;
      case "run":
        return await runCommand(settings, context);
      default:
        return settings satisfies never;
    }
  } catch (error) {
    return fail(error, context);
  }
}

function fail(error: unknown, { signal, stderr }: BenchContext): number {
  // After an interruption, every other error is a consequence of it.
  const reason: unknown = signal.aborted ? signal.reason : error;
  stderr.write(`idk bench: ${reasonOf(reason)}\n`);
  if (reason instanceof Interruption) return reason.exitCode;
  return reason instanceof Usage ? EXIT_CODES.usage : EXIT_CODES.failed;
}

/** The table that `--list` prints. */
function listSuites(suites: readonly Suite[]): string {
  const rows = suites.map(({ name, title, needsObjectStore, slow, options = [] }) => [
    name,
    title,
    [
      ...(needsObjectStore ? ["an object store"] : []),
      ...(slow ? ["minutes"] : []),
      ...options.map((option) => `--${option.name}`),
    ].join(", "),
  ]);
  const grid = {
    head: ["suite", "measures", "needs, options"],
    align: ["left", "left", "left"] as const,
    rows,
  };
  return `${drawGrid(grid, plain)}\n`;
}
