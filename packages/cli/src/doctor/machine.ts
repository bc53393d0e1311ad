import { type Check, failed, warning, well } from "./check.ts";
import { availableParallelism } from "node:os";
import { BUN_MIN } from "../version.ts";
import { loadNaCl } from "@idk/storage";

const NODE_MIN = "20.16.0";

/** Threads that the library starts at most by itself. */
const THREADS_MAX = 8;

/** What runs this program. */
export function checkRuntime(versions: Readonly<Record<string, string | undefined>>): Check {
  const { bun, node = "" } = versions;
  const [name, version, least] =
    bun === undefined ? ["Node", node, NODE_MIN] : ["Bun", bun, BUN_MIN];
  const found = `${name} ${version} on ${process.platform} ${process.arch}`;
  if (isAtLeast(version, least)) return well("runtime", found);
  return failed("runtime", "usage", found, `take ${name} ${least} or later`);
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

function isAtLeast(version: string, least: string): boolean {
  const parts = (text: string): number[] => text.split(/[.-]/u).slice(0, 3).map(Number);
  const [have, need] = [parts(version), parts(least)];
  const differs = have.findIndex((part, i) => part !== need[i]);
  return differs === -1 || have[differs]! > need[differs]!;
}
