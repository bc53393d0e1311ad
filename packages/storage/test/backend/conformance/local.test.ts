import { describe, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Durability, filesystem } from "../../../src/backend/filesystem.ts";
import { withLimit } from "../../../src/backend/limit.ts";
import { memory } from "../../../src/backend/memory.ts";
import { withRetry } from "../../../src/backend/retry.ts";
import { backendConformance, type BackendFixture } from "../../../src/testing/index.ts";
import { attesting } from "../attesting.ts";

function inMemory(): BackendFixture {
  const backend = memory();
  return { backend, reopen: () => backend };
}

async function inDirectory(durability: Durability): Promise<BackendFixture> {
  const directory = await mkdtemp(join(tmpdir(), "idk-conformance-"));
  return {
    backend: filesystem(directory, { durability }),
    reopen: () => filesystem(directory, { durability }),
    cleanup: () => rm(directory, { recursive: true }),
  };
}

function verifyingInMemory(): BackendFixture {
  const backend = attesting();
  return { backend, reopen: () => backend };
}

/** Decorators must satisfy the contract too. */
function decorated(): BackendFixture {
  const backend = withRetry(withLimit(attesting(), 2));
  return { backend, reopen: () => backend };
}

const FIXTURES = {
  memory: inMemory,
  "memory that verifies checksums": verifyingInMemory,
  "memory with a limit and retries": decorated,
  filesystem: () => inDirectory("full"),
  "filesystem without durability": () => inDirectory("none"),
};

for (const [name, open] of Object.entries(FIXTURES)) {
  describe(name, () => {
    for (const { name: rule, run } of backendConformance({ open })) test(rule, run, 120_000);
  });
}
