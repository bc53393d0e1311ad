import { cpus, platform, release, totalmem } from "node:os";
import { loadNaCl } from "@idk/storage";
import type { Machine } from "../report/report.ts";
import { counted, formatBytes } from "../report/units.ts";

/** One line with processor, cores, memory, system and runtime. */
export function describeHost({ processor, cores, memory, system, runtime }: Machine): string {
  return `${processor}, ${counted(cores, "core")}, ${formatBytes(memory)}, ${system}, ${runtime}`;
}

/** The machine, the runtime and the NaCl implementation of this process. */
export async function thisMachine(): Promise<Machine> {
  const { name } = await loadNaCl();
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown processor",
    cores: cpus().length,
    memory: totalmem(),
    system: `${platform()} ${release()}`,
    runtime: `Bun ${Bun.version}`,
    nacl: name === "native" ? "native" : "portable",
  };
}
