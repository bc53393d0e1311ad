import { dirname } from "node:path";

/** As in package.json, which `--version` does not read because that is slow; a test compares them. */
export const VERSION = "0.1.0";

/** The release date, in the format of manual pages. */
export const RELEASED = "November 21, 2026";

/** The oldest version of Bun supported, as in package.json. */
export const BUN_MIN = "1.4.5";

/**
 * The platform of a single-file executable, such as `linux-x64-musl`; executable.ts fills it in. Undefined
 * if this runs on an installed Bun.
 */
export const EXECUTABLE_FOR = undefined as string | undefined;

/** The error message for a runtime that is too old; undefined if it is supported. */
export function runtimeFault(version: string): string | undefined {
  if (Bun.semver.order(version, BUN_MIN) >= 0) return undefined;
  return `this needs Bun ${BUN_MIN} or later, but runs on ${version}: run bun upgrade`;
}

/** The version of the program and the runtime, and the NaCl implementation. */
export function versionLine(): string {
  const { platform, arch } = process;
  return `idk ${VERSION} (Bun ${Bun.version}, ${platform} ${arch}, NaCl ${naclProvider()})`;
}

/** Whether native NaCl is installed. Does not load it; `idk doctor` does. */
function naclProvider(): "native" | "portable" {
  try {
    Bun.resolveSync("sodium-native", dirname(Bun.main));
    return "native";
  } catch {
    return "portable";
  }
}
