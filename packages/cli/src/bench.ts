import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname } from "node:path";

const MISSING =
  "idk: `idk bench` needs the package @idk/bench, which is not installed: " +
  "run it in a clone of the repository of idk, after `bun install`";

/** Which are passed on. The benchmarks clean up, and take two that come at once for one. */
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/**
 * Runs the benchmarks, a program of their own: what measures must not carry the weight of the
 * command, and the command not that of what measures. Arguments, input, output, signals and exit
 * code are theirs.
 *
 * @param resolve finds their file; throws where there is none
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
  const child = spawn(process.execPath, [program, ...args], { stdio: "inherit" });
  const passOn = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, passOn);
  const ended = new Promise<number>((done) => {
    child.on("error", (error) => {
      console.error(`idk: the benchmarks did not start: ${error.message}`);
      done(1);
    });
    // As a shell reports what a signal has ended.
    child.on("exit", (code, signal) =>
      done(code ?? 128 + (signal ? constants.signals[signal] : 0)),
    );
  });
  return ended.finally(() => {
    for (const signal of SIGNALS) process.off(signal, passOn);
  });
}
