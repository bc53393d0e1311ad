/** Runs a program for a parent that is too large to see the program's peak memory. */
import { type Program, answerJob, run } from "./processes.ts";

const controller = new AbortController();
// Ctrl-C in a terminal reaches all processes. This one waits for the program, which may be cleaning up.
for (const name of ["SIGHUP", "SIGINT", "SIGTERM"] as const) {
  process.on(name, () => controller.abort());
}
await answerJob((program: Program) => run({ ...program, signal: controller.signal }));
