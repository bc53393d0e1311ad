import { readFileSync } from "node:fs";
import type { Environment } from "../../suite.ts";

/** What to do if `taskset` is missing, which binds a process to cores. */
export function missingTaskset({ PATH = "" }: Environment): string | undefined {
  if (Bun.which("taskset", { PATH }) !== null) return undefined;
  return "taskset not found: it binds processes to cores, on Linux, and is a part of util-linux";
}

/**
 * The numbers of the cores that this process may use.
 *
 * @param status of a process, as Linux tells it
 */
export function allowedCores(status: string = readFileSync("/proc/self/status", "utf8")): number[] {
  const [, list = ""] = /^Cpus_allowed_list:\s*([\d,-]+)$/mu.exec(status) ?? [];
  return list.split(",").flatMap((range) => {
    const [from = Number.NaN, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** A program on the first cores, with all that it starts. */
export function pinned(argv: readonly string[], count: number): readonly string[] {
  return ["taskset", "--cpu-list", allowedCores().slice(0, count).join(","), ...argv];
}
