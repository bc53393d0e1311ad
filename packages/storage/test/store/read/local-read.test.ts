import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesystem } from "../../../src/backend/filesystem.ts";
import { memory } from "../../../src/backend/memory.ts";
import { type Backend, withLimit, withRetry } from "../../../src/index.ts";
import { aliceStore, outcome } from "../../support.ts";

const folder = mkdtempSync(join(tmpdir(), "idk-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How often a damaged blob is read before it counts as damaged. */
async function readsOfDamaged(inner: Backend): Promise<number> {
  const address = await aliceStore({ backend: inner }).put("content");
  let reads = 0;
  const damaging: Backend = {
    ...inner,
    async get(name, buffer, options) {
      reads += 1;
      const length = await inner.get(name, buffer, options);
      buffer[10]! ^= 1;
      return length;
    },
  };
  const backend = withRetry(withLimit(damaging, 4));
  expect(await outcome(aliceStore({ backend }).get(address))).toBe("address");
  return reads;
}

test("reads a damaged blob once if it is local", async () => {
  expect(await readsOfDamaged(filesystem(folder))).toBe(1);
  expect(await readsOfDamaged(memory())).toBe(1);
});

test("reads a damaged blob again if it may have been damaged in transit", async () => {
  const { local: _, ...unsaid } = memory();
  expect(await readsOfDamaged(unsaid)).toBe(2);
});
