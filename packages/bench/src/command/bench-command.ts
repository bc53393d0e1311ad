import { EXIT_CODES, Interruption, Usage } from "./usage.ts";
import { readArguments } from "./arguments.ts";
import { listSuites } from "./list.ts";
import { reasonOf } from "./run-suites.ts";
import { renderJsonSchema } from "../report/json.ts";
import { runCommand } from "./run-command.ts";
import type { World } from "./world.ts";

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
