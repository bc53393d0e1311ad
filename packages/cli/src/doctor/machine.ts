import { type Check, warning, well } from "./check.ts";
import { availableParallelism } from "node:os";
import { loadNaCl } from "@idk/storage";

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
