import { readFile } from "node:fs/promises";
import type { Session } from "../session.ts";

/** Files for the catalog, the store's connections, and those that are not yet encrypted. */
const RESERVE = 256;

/**
 * The connections that this process can have open. Beyond its limit of open files, neither catalog nor
 * store could be reached.
 *
 * @param wanted connections
 * @returns fewer if the limit is too low, which is said
 */
export async function checkFiles(wanted: number, { out }: Pick<Session, "out">): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const possible = connectionsWithin(limits);
  if (wanted <= possible) return wanted;
  await out.fault(
    `idk: warning: this process can have ${possible + RESERVE} files open: ${possible} connections at most, and not ${wanted}`,
  );
  return possible;
}

/**
 * @param limits the text of `/proc/self/limits`, or empty where there is none
 * @returns at least 16
 */
export function connectionsWithin(limits: string): number {
  const [, soft] = /^Max open files\s+(\d+)\s/mu.exec(limits) ?? [];
  if (soft === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(16, Number(soft) - RESERVE);
}
