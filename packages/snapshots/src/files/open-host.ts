import type { Host } from "./host.ts";
import { portableHost } from "./portable.ts";

/** Opens the file system of this host: by native calls on Linux under Bun, else by those of the runtime. */
export async function openHost(): Promise<Host> {
  if (process.platform === "linux" && "bun" in process.versions) {
    try {
      const { linuxHost } = await import("./native/linux.ts");
      return linuxHost();
    } catch {
      // A processor without known numbers of calls, or a system that forbids to make code at run time.
    }
  }
  return portableHost();
}
