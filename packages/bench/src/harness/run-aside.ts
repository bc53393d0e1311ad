/** Runs a program for a parent that is too large to see the program's peak memory. */
import { answerJob, run } from "./processes.ts";

const controller = new AbortController();
process.on("SIGTERM", () => controller.abort());
await answerJob((argv: readonly string[]) => run({ argv, signal: controller.signal }));
