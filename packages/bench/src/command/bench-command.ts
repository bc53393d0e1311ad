import { drawGrid, plain } from "../report/draw.ts";
import { renderJsonSchema } from "../report/schema.ts";
import type { Suite } from "../suite.ts";
import { readArguments } from "./arguments.ts";
import type { World } from "./context.ts";
import { runCommand } from "./run-command.ts";
import { reasonOf } from "./run-suites.ts";
import { EXIT_CODES, Interruption, Usage } from "./usage.ts";

/**
 * Runs one command line.
 *
 * @returns the exit code
 */
export async function benchCommand(args: readonly string[], world: World): Promise<number> {
  try {
    if (args[0] === "compare") {
      const { runCompare } = await import("./compare-command.ts");
      return await runCompare(args.slice(1), world);
    }
    const settings = readArguments(args, world.suites);
    switch (settings.action) {
      case "help":
        await world.stdout.print(settings.text);
        return EXIT_CODES.done;
      case "list":
        await world.stdout.print(listSuites(world.suites));
        return EXIT_CODES.done;
      case "json-schema":
        await world.stdout.print(renderJsonSchema());
        return EXIT_CODES.done;
      case "run":
        return await runCommand(settings, world);
      default:
        return settings satisfies never;
    }
  } catch (error) {
    return fail(error, world);
  }
}

function fail(error: unknown, { signal, stderr }: World): number {
  // After an interruption, whatever fails fails because of it.
  const reason: unknown = signal.aborted ? signal.reason : error;
  stderr.write(`idk bench: ${reasonOf(reason)}\n`);
  if (reason instanceof Interruption) return reason.exitCode;
  return reason instanceof Usage ? EXIT_CODES.usage : EXIT_CODES.failed;
}

/** For `--list`: names, what they ask, and what they take. */
export function listSuites(suites: readonly Suite[]): string {
  const rows = suites.map(({ name, title, needsObjectStore, options = [] }) => [
    name,
    title,
    [
      ...(needsObjectStore ? ["an object store"] : []),
      ...options.map((option) => `--${option.name}`),
    ].join(", "),
  ]);
  const grid = {
    head: ["suite", "measures", "takes"],
    align: ["left", "left", "left"] as const,
    rows,
  };
  return `${drawGrid(grid, plain)}\n`;
}
