import { loadNaCl } from "@idk/storage";
import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { Config } from "../config/config.ts";
import type { UserFolders } from "../folders.ts";
import { count } from "../output/text.ts";
import { EXECUTABLE_FOR } from "../version.ts";
import { type Check, warning, passed } from "./check.ts";

/** The library's default maximum number of threads. */
const THREADS_MAX = 8;

/** The runtime. main.ts has rejected one that is too old. */
export function checkRuntime(): Check {
  return passed("runtime", `Bun ${Bun.version} on ${process.platform} ${process.arch}`);
}

/** Both implementations give the same bytes, but one is many times slower. */
export async function checkCrypto(): Promise<Check> {
  const { name } = await loadNaCl();
  if (name === "native") return passed("crypto", "native: libsodium, through sodium-native");
  return warning("crypto", `${name}: JavaScript, correct but slow`, nativeRemedy(EXECUTABLE_FOR));
}

/** @param executable see EXECUTABLE_FOR */
export function nativeRemedy(executable: string | undefined): string {
  if (executable === undefined) {
    return "install the optional package sodium-native, if it supports this machine";
  }
  if (executable.endsWith("-musl")) {
    return "libsodium is not available for musl: use idk on a system with glibc for large amounts of data";
  }
  if (executable.startsWith("linux-")) {
    return "libsodium, which idk contains, did not load: install libstdc++ (on Debian, libstdc++6)";
  }
  return "libsodium, which idk contains, did not load: make sure that the folder for temporary files is writable";
}

/** @param workers the setting `workers` */
export function checkThreads(workers: number | undefined): Check {
  const cores = availableParallelism();
  const threads = workers ?? (cores === 1 ? 0 : Math.min(cores, THREADS_MAX));
  const of = `${cores} ${cores === 1 ? "core" : "cores"}`;
  if (threads <= cores) {
    return passed("threads", `${threads || "none"} for large files, ${of}`);
  }
  return warning(
    "threads",
    `${threads} for large files, but only ${of}`,
    `use --workers ${cores}, which is as fast and needs less memory`,
  );
}

/** @param config undefined if there is none */
export function checkConfig(config: Config | undefined): Check {
  if (config === undefined) return passed("configuration", "no file; create one with `idk init`");
  const { path, stores } = config;
  return passed("configuration", `${path}: ${count(stores.size, "store")}`);
}

/** The folders of the journals and of their key. */
export async function checkFolders({ cache, state }: UserFolders): Promise<Check> {
  for (const folder of [state, cache]) {
    if (await othersHaveAccess(folder, 0o022)) {
      const message = `${folder}: other users of this machine can write to it`;
      return warning("journals", message, `chmod 700 ${folder}`);
    }
  }
  return passed("journals", `for interrupted puts: ${cache}`);
}

async function othersHaveAccess(path: string, bits: number): Promise<boolean> {
  if (process.platform === "win32") return false;
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && (stats.mode & bits) !== 0;
}
