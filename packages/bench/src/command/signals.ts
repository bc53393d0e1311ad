import { Interruption } from "./usage.ts";

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Milliseconds. Two signals closer together are one: a terminal sends it, and `idk` passes it on. */
const ECHO = 500;

/** What cleaning up may take, in milliseconds. */
const GRACE = 30_000;

/**
 * The first signal lets what runs clean up; the second, from someone in a hurry, does not.
 *
 * @param note takes a line for people
 */
export function abortOnSignals(note: (line: string) => void): AbortSignal {
  const controller = new AbortController();
  let first = 0;
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        if (performance.now() - first > ECHO) process.exit(exitCode);
        return;
      }
      first = performance.now();
      note("idk bench: stopping, and cleaning up; once more to stop at once");
      controller.abort(new Interruption(exitCode));
      setTimeout(() => process.exit(exitCode), GRACE).unref();
    });
  }
  return controller.signal;
}
