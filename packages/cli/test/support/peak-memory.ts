/*
 * Loaded before the command, by Bun's `--preload`: writes the peak memory of the process in bytes into the
 * file of a variable when it ends. What `getrusage` says begins with the process that started this one.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("exit", () => {
    const status = readFileSync("/proc/self/status", "utf8");
    const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/mu.exec(status)!;
    writeFileSync(process.env["IDK_TEST_PEAK_FILE"]!, String(Number(kibibytes) * 1024));
  });
}
