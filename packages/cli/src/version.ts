import { dirname } from "node:path";

/** The same as in package.json; a test holds them together. Reading that file would cost `--version` its speed. */
export const VERSION = "0.1.0";

/** When it was, as the manual page has it: `November 21, 2026`. */
export const RELEASED = "November 21, 2026";

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
