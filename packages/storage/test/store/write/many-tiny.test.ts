import type { Address, PutItem } from "../../../src/index.ts";
import { addressOf, item } from "../many.ts";
import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { aliceStore } from "../../support.ts";
import { filesystem } from "../../../src/backend/filesystem.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";

test("stores and reads thousands of tiny objects in a folder", async () => {
  const directory = await mkdtemp(join(tmpdir(), "idk-many-"));
  try {
    const store = aliceStore({ backend: filesystem(directory, { durability: "none" }) });
    // More than a process may have open files, and than any queue or pool holds.
    const COUNT = 3000;
    function* items(): Generator<PutItem<number>> {
      for (let i = 0; i < COUNT; i++) yield item(i);
    }
    const keys = new Map<Address, number>();
    for await (const result of store.putMany(items())) keys.set(addressOf(result), result.key);
    expect(new Set(keys.values()).size).toBe(COUNT);
    let read = 0;
    for await (const result of store.getMany(keys.keys())) {
      if (!result.ok) throw result.error;
      const content = await result.blob.text();
      // An expectation for each would take longer than everything else.
      if (content !== `content ${keys.get(result.blob.address)}`) throw new Error(content);
      read += 1;
    }
    expect(read).toBe(COUNT);
  } finally {
    await rm(directory, { recursive: true });
  }
}, 60_000);
