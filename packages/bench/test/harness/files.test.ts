import { isAbsolute, relative, resolve } from "node:path";
import { expect, test } from "bun:test";
import { isolatedUserFolders } from "../../src/harness/files.ts";

test("isolatedUserFolders are absolute and below the run's folder, even if that is relative", () => {
  for (const folder of ["/tmp/idk-bench-1", "bench/idk-bench-1"]) {
    const folders = Object.entries(isolatedUserFolders(folder));
    expect(folders.map(([name]) => name).toSorted()).toEqual([
      "XDG_CACHE_HOME",
      "XDG_CONFIG_HOME",
      "XDG_DATA_HOME",
      "XDG_STATE_HOME",
    ]);
    for (const [, path] of folders) {
      expect(isAbsolute(path)).toBe(true);
      expect(relative(resolve(folder), path)).not.toStartWith("..");
    }
    expect(new Set(folders.map(([, path]) => path)).size).toBe(folders.length);
  }
});
