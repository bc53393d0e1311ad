import { cpus, platform, release, totalmem } from "node:os";
import type { Machine } from "../report/report.ts";
import { loadNaCl } from "@idk/storage";

/** What this process runs on. */
export async function thisMachine(): Promise<Machine> {
  const [cpu] = cpus();
  const { name } = await loadNaCl();
  return {
    processor: cpu?.model.trim() ?? "unknown processor",
    cores: cpus().length,
    memory: totalmem(),
    system: `${platform()} ${release()}`,
    runtime: `Bun ${Bun.version}`,
    nacl: name === "native" ? "native" : "portable",
  };
}
