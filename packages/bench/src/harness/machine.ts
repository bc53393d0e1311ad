import { readFileSync } from "node:fs";
import { availableParallelism, cpus, platform, release, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { loadNaCl } from "@idk/storage";
import type { Machine } from "../report/report.ts";
import { counted, formatBytes } from "../report/units.ts";
import { median } from "../statistics/describe.ts";

export function describeHost({ processor, cores, memory, system, runtime }: Machine): string {
  return `${processor}, ${counted(cores, "core")}, ${formatBytes(memory)}, ${system}, ${runtime}`;
}

export async function thisMachine(): Promise<Machine> {
  const { name } = await loadNaCl();
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown processor",
    cores: availableParallelism(),
    memory: totalmem(),
    system: `${platform()} ${release()}`,
    runtime: `Bun ${Bun.version}`,
    nacl: name === "native" ? "native" : "portable",
  };
}

/** The load from which on the machine is too busy to judge elapsed time. */
const BUSY = 0.25;

/** Whether others use the machine while something is measured in rounds. */
export interface LoadWatch {
  /** Waits for a moment, and looks what others use meanwhile. Once in a round is enough. */
  look(): Promise<void>;
  /** Whether the machine was too busy to judge elapsed time, after the first look. */
  isBusy(): boolean;
}

/** @param measured a process whose own work is judged, and not that of others */
export function watchLoad(measured?: number): LoadWatch {
  const loads: number[] = [];
  return {
    look: async () => void loads.push(await loadWhileIdle(measured)),
    isBusy: () => median(loads) > BUSY,
  };
}

/**
 * The share of the time of all cores, from 0 to 1, that is used while this process waits.
 *
 * @param measured a process whose share is left out, on Linux
 */
export async function loadWhileIdle(measured?: number): Promise<number> {
  const before = cpuTimes();
  const ownBefore = processTime(measured);
  await sleep(100);
  const after = cpuTimes();
  const all = after.all - before.all;
  const own = processTime(measured) - ownBefore;
  return all === 0 ? 0 : Math.max(0, 1 - (after.idle - before.idle + own) / all);
}

/** Seconds that the cores of the machine have worked since it started, each counted by itself. */
export function busySeconds(): number {
  const { all, idle } = cpuTimes();
  return (all - idle) / 1000;
}

function cpuTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((core) => core.times);
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    all: times.flatMap(Object.values<number>).reduce((sum, time) => sum + time, 0),
  };
}

/** CPU time of all threads of a process in milliseconds, as in `cpuTimes`; 0 where the system does not tell. */
function processTime(pid: number | undefined): number {
  if (pid === undefined || platform() !== "linux") return 0;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // After the name in parentheses, which can have blanks: fields 14 and 15, in hundredths of a second
  // (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
