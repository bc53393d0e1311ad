/** Runs a program for a parent that is too large to see the program's peak memory. */
import { type Program, answerJob, run } from "./processes.ts";

const controller = new AbortController();
process.on("SIGTERM", () => controller.abort());
await answerJob((program: Program) => run({ ...program, signal: controller.signal }));
