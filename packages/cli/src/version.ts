import { dirname } from "node:path";

/** The same as in package.json; a test holds them together. Reading that file would cost `--version` its speed. */
export const VERSION = "0.1.0";

/** When it was, as the manual page has it: `November 21, 2026`. */
export const RELEASED = "November 21, 2026";

/** The first version of the runtime that all of it runs on; package.json has it, too. */
export const BUN_MIN = "1.4.5";

/** What to tell whoever has an older runtime, which would fail somewhere inside; undefined if it will do. */
export function runtimeFault(version: string): string | undefined {
  if (Bun.semver.order(version, BUN_MIN) >= 0) return undefined;
  return `this takes Bun ${BUN_MIN} or later, and runs on ${version}: bun upgrade`;
}

/** Version, runtime, and which NaCl there is. */
export function versionLine(): string {
  const { platform, arch } = process;
  return `idk ${VERSION} (Bun ${Bun.version}, ${platform} ${arch}, NaCl ${naclProvider()})`;
}

/**
 * What is installed for this platform, which takes a look and no loading: `idk doctor` loads it.
 */
function naclProvider(): "native" | "portable" {
  try {
    Bun.resolveSync("sodium-native", dirname(Bun.main));
    return "native";
  } catch {
    return "portable";
  }
}
