import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname } from "node:path";

const MISSING =
  "idk: `idk bench` needs the package @idk/bench, which is not installed: " +
  "run it in a clone of idk's repository, after `bun install`";

/**
 * Flags of Bun with which no file of the current folder changes what this program does: `.env`,
 * packages installed on the fly, `bunfig.toml` and the paths of `tsconfig.json`. The first line of
 * main.ts has the same.
 */
export const RUNTIME_FLAGS: readonly string[] = [
  "--no-env-file",
  "--no-install",
  "--config=/dev/null",
  "--tsconfig-override=/dev/null",
];

/** Passed on to the benchmarks, which clean up and treat two at once as one. */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/**
 * Runs the benchmarks as a separate process, so that neither program loads the other's code.
 * Arguments, input, output, signals and exit code are passed through.
 *
 * @param resolve finds their main file; throws if it is not installed
 * @returns the exit code
 */
export function bench(
  args: readonly string[],
  resolve: () => string = () => Bun.resolveSync("@idk/bench/main", dirname(Bun.main)),
): Promise<number> {
  let program: string;
  try {
    program = resolve();
  } catch {
    console.error(MISSING);
    return Promise.resolve(2);
  }
  const passOn = (signal: NodeJS.Signals) => child.kill(signal);
  // Before the start, because this process may be interrupted while the other one already runs.
  for (const signal of SIGNALS) process.on(signal, passOn);
  const child = spawn(process.execPath, [...RUNTIME_FLAGS, program, ...args], { stdio: "inherit" });
  const ended = new Promise<number>((done) => {
    child.on("error", (error) => {
      console.error(`idk: the benchmarks did not start: ${error.message}`);
      done(1);
    });
    // 128 + the signal, as a shell reports it.
    child.on("exit", (code, signal) =>
      done(code ?? 128 + (signal ? constants.signals[signal] : 0)),
    );
  });
  return ended.finally(() => {
    for (const signal of SIGNALS) process.off(signal, passOn);
  });
}
