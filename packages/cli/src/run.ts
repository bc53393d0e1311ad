import { runProgram } from "./command-line/program.ts";
import { Interruption, messageOf, reportOf, stackOf } from "./errors/failures.ts";
import type { Environment } from "./invocation.ts";
import { createOutput } from "./output/output.ts";
import { createScreen } from "./output/screen.ts";
import { toJson } from "./output/text.ts";
import type { Session } from "./session.ts";

/** Runs one command line. Resolves with the exit code when all output is written. */
export async function run(args: readonly string[], env: Environment): Promise<number> {
  const screen = createScreen();
  const out = createOutput({ json: wantsJson(args), screen });
  const { signal, onHangup, keepRunning, isServing, stop } = abortOnSignals();
  const debug = env["IDK_DEBUG"] === "1";

  const fail = async (reason: unknown): Promise<number> => {
    screen.setLine(undefined);
    // Results from before the failure are valid. If they cannot be written, the failure matters more.
    await Promise.allSettled([out.flush()]);
    const report = reportOf(reason, signal);
    if (report.silent) return report.exitCode;
    if (debug) await out.block(stackOf(reason));
    const { code, message } = report;
    await out.block(out.json ? toJson({ error: { code, message } }) : `idk: ${message}`);
    return report.exitCode;
  };

  // Errors outside of awaited calls are reported in the same way, without a stack trace.
  let fatal: { readonly error: unknown } | undefined;
  process.on("unhandledRejection", (error: unknown) => {
    // Whoever is served has nothing to do with it.
    if (isServing()) void out.fault(`idk: warning: internal error: ${messageOf(error)}`);
    else void exitAfter(fail(error));
  });
  process.on("uncaughtException", (error: unknown) => {
    if (!isServing() || fatal !== undefined) {
      void exitAfter(fail(error));
      return;
    }
    fatal = { error };
    void out.fault(`idk: internal error: ${messageOf(error)}`);
    stop(error);
  });

  try {
    await runProgram(args, env, { out, signal, screen, onHangup, keepRunning });
    await out.flush();
    return fatal === undefined ? 0 : await fail(fatal.error);
  } catch (error) {
    return await fail(fatal?.error ?? error);
  }
}

async function exitAfter(failed: Promise<number>): Promise<never> {
  return process.exit(await failed);
}

/** Read before the arguments are parsed, because errors in them are also reported as JSON. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).includes("--json");
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Milliseconds for a command to clean up. Opening a pipe can block for ever. */
const GRACE = 5000;

/**
 * Milliseconds within which signals are one: a terminal sends it to all processes in the foreground, and
 * the one that started this may pass it on.
 */
const AT_ONCE = 200;

interface Signals extends Pick<Session, "signal" | "onHangup" | "keepRunning"> {
  readonly isServing: () => boolean;
  /** Lets the command clean up, as the first signal does. */
  readonly stop: (reason: unknown) => void;
}

/** The first signal lets the command clean up; a later one ends the process. */
function abortOnSignals(): Signals {
  let firstAt = -Infinity;
  const controller = new AbortController();
  let reload: (() => Promise<void>) | undefined;
  let isServing = false;
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (name === "SIGHUP" && reload !== undefined) {
        void reload();
        return;
      }
      if (performance.now() - firstAt < AT_ONCE) return;
      if (controller.signal.aborted) process.exit(exitCode);
      firstAt = performance.now();
      controller.abort(new Interruption(exitCode));
      if (!isServing) setTimeout(() => process.exit(exitCode), GRACE).unref();
    });
  }
  return {
    signal: controller.signal,
    onHangup(given) {
      reload = given;
    },
    keepRunning() {
      isServing = true;
    },
    isServing: () => isServing,
    stop: (reason) => controller.abort(reason),
  };
}
