import { type Check, warning, well } from "./check.ts";
import type { Config } from "../config/config.ts";
import type { UserFolders } from "../user-folders.ts";
import { count } from "../text.ts";
import { stat } from "node:fs/promises";

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
