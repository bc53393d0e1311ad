import { cpus, platform, release, totalmem } from "node:os";
import { loadNaCl } from "@idk/storage";
import type { Machine } from "../report/report.ts";
import { counted, formatBytes } from "../report/units.ts";

/** What figures have to be read with; without the NaCl, which takes loading one. */
export type Host = Omit<Machine, "nacl">;

/** What this process runs on. */
export function thisHost(): Host {
  const [cpu] = cpus();
  return {
    processor: cpu?.model.trim() ?? "unknown processor",
    cores: cpus().length,
    memory: totalmem(),
    system: `${platform()} ${release()}`,
    runtime: `Bun ${Bun.version}`,
  };
}

/** In a line: the processor, the cores, the memory, the system, the runtime. */
export function describeHost({ processor, cores, memory, system, runtime }: Host): string {
  return `${processor}, ${counted(cores, "core")}, ${formatBytes(memory)}, ${system}, ${runtime}`;
}

/** What this process runs on, and which NaCl it has. */
export async function thisMachine(): Promise<Machine> {
  const { name } = await loadNaCl();
  return { ...thisHost(), nacl: name === "native" ? "native" : "portable" };
}
