import { runProgram } from "./command-line/program.ts";
import { Interruption, reportOf, stackOf } from "./errors/failures.ts";
import type { Environment } from "./invocation.ts";
import { createOutput } from "./output/output.ts";
import { createScreen } from "./output/screen.ts";
import { toJson } from "./output/text.ts";

/** Runs one command line and returns the exit code. Everything is written when it resolves. */
export async function run(args: readonly string[], env: Environment): Promise<number> {
  const screen = createScreen();
  const out = createOutput({ json: asksForJson(args), screen });
  const signal = abortOnSignals();
  const debug = env["IDK_DEBUG"] === "1";

  const fail = async (reason: unknown): Promise<number> => {
    screen.place(undefined);
    // Results from before the failure are good; if they cannot be written, the failure says more.
    await Promise.allSettled([out.flush()]);
    const report = reportOf(reason, signal);
    if (report.silent) return report.exitCode;
    if (debug) await out.block(stackOf(reason));
    const { code, message } = report;
    await out.block(out.json ? toJson({ error: { code, message } }) : `idk: ${message}`);
    return report.exitCode;
  };

  // A fault outside of every awaited call must not show a stack either.
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      void exitAfter(fail(error));
    });
  }

  try {
    await runProgram(args, env, { out, signal, screen });
    await out.flush();
    return 0;
  } catch (error) {
    return await fail(error);
  }
}

async function exitAfter(failed: Promise<number>): Promise<never> {
  return process.exit(await failed);
}

/** Known before the arguments are parsed, because errors in them are reported in the same way. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).includes("--json");
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** What a command may take to clean up, in milliseconds. Opening a pipe can block for ever. */
const GRACE = 5000;

/** The first signal lets the command clean up; the second, from someone in a hurry, does not. */
function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(exitCode);
      controller.abort(new Interruption(exitCode));
      setTimeout(() => process.exit(exitCode), GRACE).unref();
    });
  }
  return controller.signal;
}
