/** Runs a program for a parent that is too large to see the program's peak memory. */
import { type Program, answerJob, run } from "./processes.ts";

const controller = new AbortController();
// Ctrl-C in a terminal reaches all processes. This one ends after the program, because the caller then removes
// what the program uses.
for (const name of ["SIGHUP", "SIGINT", "SIGTERM"] as const) {
  process.on(name, () => controller.abort());
}
await answerJob((program: Program) => run({ ...program, signal: controller.signal }));
