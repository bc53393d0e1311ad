/** Runs a program for a parent that is too large to see the program's peak memory. */
import { receivedJob, run } from "./processes.ts";

const argv = receivedJob() as readonly string[] | undefined;
if (argv) {
  const controller = new AbortController();
  process.on("SIGTERM", () => controller.abort());
  console.log(JSON.stringify(await run({ argv, signal: controller.signal })));
}
