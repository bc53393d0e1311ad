import type { Machine } from "../report/report.ts";
import { loadNaCl } from "@idk/storage";
import { thisHost } from "../machine.ts";

/** What this process runs on, and which NaCl it has. */
export async function thisMachine(): Promise<Machine> {
  const { name } = await loadNaCl();
  return { ...thisHost(), nacl: name === "native" ? "native" : "portable" };
}
