import { loadNaCl } from "@idk/storage";
import { stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { Config } from "../config/config.ts";
import type { UserFolders } from "../folders.ts";
import { count } from "../output/text.ts";
import { type Check, warning, well } from "./check.ts";

/** Threads that the library starts at most by itself. */
const THREADS_MAX = 8;

/** What runs this program; where it is too old, that is said before there is a doctor. */
export function checkRuntime(): Check {
  return well("runtime", `Bun ${Bun.version} on ${process.platform} ${process.arch}`);
}

/** Both implementations give the same bytes; one of them takes many times as long. */
export async function checkCrypto(): Promise<Check> {
  const { name } = await loadNaCl();
  if (name === "native") return well("crypto", "native: libsodium, by sodium-native");
  return warning(
    "crypto",
    `${name}: JavaScript, right but slow`,
    "install the optional package sodium-native, if there is one for this machine",
  );
}

/** @param workers what `--workers` or its like say */
export function checkThreads(workers: number | undefined): Check {
  const cores = availableParallelism();
  const threads = workers ?? (cores === 1 ? 0 : Math.min(cores, THREADS_MAX));
  const of = `${cores} ${cores === 1 ? "core" : "cores"}`;
  if (threads <= cores) {
    return well("threads", `${threads || "none"} for large files, ${of}`);
  }
  return warning(
    "threads",
    `${threads} for large files, more than the ${of}`,
    `--workers ${cores} is as fast, with less memory`,
  );
}

/** @param config undefined where there is none */
export async function checkConfig(config: Config | undefined): Promise<Check> {
  if (config === undefined) return well("configuration", "no file; `idk init` writes one");
  const { path, stores } = config;
  if (await mayOthers(path, 0o022)) {
    const message = `${path}: others on this machine may write it, and say where your files go`;
    return warning("configuration", message, `chmod go-w ${path}`);
  }
  return well("configuration", `${path}: ${count(stores.size, "store")}`);
}

/** The folders of journals and of the key that seals them. */
export async function checkFolders({ cache, state }: UserFolders): Promise<Check> {
  for (const folder of [state, cache]) {
    if (await mayOthers(folder, 0o022)) {
      const message = `${folder}: others on this machine may write there`;
      return warning("journals", message, `chmod 700 ${folder}`);
    }
  }
  return well("journals", `of interrupted puts: ${cache}`);
}

async function mayOthers(path: string, bits: number): Promise<boolean> {
  if (process.platform === "win32") return false;
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && (stats.mode & bits) !== 0;
}
