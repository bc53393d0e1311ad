import { cpus, platform, release, totalmem } from "node:os";

/** What figures have to be read with: the processor, the cores, the memory, the runtime. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  return `${cpu?.model.trim() ?? "unknown processor"}, ${cpus().length} cores, ${gib} GiB, ${platform()} ${release()}, Bun ${Bun.version}`;
}
