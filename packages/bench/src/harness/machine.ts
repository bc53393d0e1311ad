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

export function watchLoad(): LoadWatch {
  const loads: number[] = [];
  return {
    look: async () => void loads.push(await loadWhileIdle()),
    isBusy: () => median(loads) > BUSY,
  };
}

/** The share of the time of all cores, from 0 to 1, that is used while this process waits. */
export async function loadWhileIdle(milliseconds = 100): Promise<number> {
  const before = cpuTimes();
  await sleep(milliseconds);
  const after = cpuTimes();
  const all = after.all - before.all;
  return all === 0 ? 0 : 1 - (after.idle - before.idle) / all;
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
