import { describe, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Durability, filesystem } from "../../src/backend/filesystem.ts";
import { withLimit } from "../../src/backend/limit.ts";
import { memory } from "../../src/backend/memory.ts";
import { withRetry } from "../../src/backend/retry.ts";
import { backendConformance, type BackendPlace } from "../../src/testing/index.ts";
import { attesting } from "./attesting.ts";

function inMemory(): BackendPlace {
  const backend = memory();
  return { backend, reopen: () => backend };
}

async function inDirectory(durability: Durability): Promise<BackendPlace> {
  const directory = await mkdtemp(join(tmpdir(), "idk-conformance-"));
  return {
    backend: filesystem(directory, { durability }),
    reopen: () => filesystem(directory, { durability }),
    cleanup: () => rm(directory, { recursive: true }),
  };
}

function attestingInMemory(): BackendPlace {
  const backend = attesting();
  return { backend, reopen: () => backend };
}

/** Backends in backends keep to the contract, too. */
function decorated(): BackendPlace {
  const backend = withRetry(withLimit(attesting(), 2));
  return { backend, reopen: () => backend };
}

const places = {
  memory: inMemory,
  "memory that attests": attestingInMemory,
  "memory with a limit and retries": decorated,
  filesystem: () => inDirectory("full"),
  "filesystem without durability": () => inDirectory("none"),
};

for (const [place, open] of Object.entries(places)) {
  describe(place, () => {
    for (const { name, run } of backendConformance({ open })) test(name, run, 30_000);
  });
}
