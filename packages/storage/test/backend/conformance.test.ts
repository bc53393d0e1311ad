import { describe, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesystem } from "../../src/backend/filesystem.ts";
import { memory } from "../../src/backend/memory.ts";
import { backendConformance, type BackendPlace } from "../../src/testing/index.ts";

function inMemory(): BackendPlace {
  const backend = memory();
  return { backend, reopen: () => backend };
}

async function inDirectory(fsync: boolean): Promise<BackendPlace> {
  const directory = await mkdtemp(join(tmpdir(), "idk-conformance-"));
  return {
    backend: filesystem(directory, { fsync }),
    reopen: () => filesystem(directory, { fsync }),
    cleanup: () => rm(directory, { recursive: true }),
  };
}

const places = {
  memory: inMemory,
  filesystem: () => inDirectory(true),
  "filesystem without fsync": () => inDirectory(false),
};

for (const [place, open] of Object.entries(places)) {
  describe(place, () => {
    for (const { name, run } of backendConformance({ open })) test(name, run, 30_000);
  });
}
