import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { parseExcludeFile } from "@idk/snapshots";
import type { StoreLocation } from "@idk/storage/url";
import { readKeyFile } from "../keys/key-files.ts";

/**
 * The patterns that a backup leaves out: those of files, those given, and last this program's own
 * places, which change while a backup runs: the store, if it is a folder, and the caches.
 */
export async function excludesOf(
  {
    exclude,
    excludeFile,
    store,
  }: {
    readonly exclude: readonly string[];
    readonly excludeFile: readonly string[];
    readonly store: StoreLocation;
  },
  own: readonly string[],
): Promise<string[]> {
  const patterns: string[] = [];
  for (const path of excludeFile) {
    const bytes = await readKeyFile(path, "exclude file");
    patterns.push(...parseExcludeFile(new TextDecoder().decode(bytes)));
  }
  patterns.push(...exclude);
  const places = [...(store.kind === "filesystem" ? [store.folder] : []), ...own];
  return [...patterns, ...places.map(exactly)];
}

/** The pattern of one path. */
function exactly(path: string): string {
  const whole = resolve(path);
  const real = existsSync(whole) ? realpathSync(whole) : whole;
  return real.replaceAll(/[\\*?[\]!]/gu, String.raw`\$&`);
}
