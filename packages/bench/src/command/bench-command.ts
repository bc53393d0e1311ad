import { readArguments } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { runCommand } from "./run-command.ts";
import { EXIT_CODES, Interruption, Usage, reasonOf } from "./usage.ts";

/** Runs one command line, and returns the exit code. */
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
    if (!("text" in settings)) return await runCommand(settings, context);
    await stdout.print(await settings.text());
    return EXIT_CODES.done;
  } catch (error) {
    // After an interruption, every other error is a consequence of it.
    const reason: unknown = signal.aborted ? signal.reason : error;
    stderr.write(`idk bench: ${reasonOf(reason)}\n`);
    if (reason instanceof Interruption) return reason.exitCode;
    return reason instanceof Usage ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}
