import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { StorageError } from "../../../src/index.ts";
import { alice, aliceStore, bob, outcome, random } from "../../support.ts";
import { bytesOf } from "../watched.ts";

describe("inspect", () => {
  test("reports the lengths of a root and its number of recipients", async () => {
    const backend = memory();
    const address = await aliceStore({ backend }).put("hello, world", {
      recipients: [alice.recipient, bob.recipient],
      metadata: { name: "hello.txt" },
    });
    const keyless = aliceStore({ backend, identities: [] });
    const seen = await keyless.inspect(address);
    expect(seen).toMatchObject({ address, kind: "root", version: 1, recipients: 2 });
    const bytes = await bytesOf(backend, address);
    expect(seen.storedBytes).toBe(bytes.length);
    expect(seen.prefixBytes).toBe(6 + 77 + 48 * 2);
    expect(seen.prefixBytes + 16 + seen.sealedBytes).toBe(bytes.length);
    expect(seen.ephemeral).toEqual(bytes.subarray(6 + 41, 6 + 73));
    expect(seen.commitment).toEqual(bytes.subarray(6 + 5, 6 + 37));
  });

  test("reports only the lengths of a chunk", async () => {
    const store = aliceStore({ chunkSize: 2 ** 18 });
    const address = await store.put(random(2 ** 20 + 1));
    for await (const name of store.treeAddresses(address)) {
      if (name === address) continue;
      const seen = await store.inspect(name);
      expect(seen).toMatchObject({ kind: "child", prefixBytes: 43 });
      expect(seen.recipients).toBeUndefined();
      expect(seen.storedBytes - seen.sealedBytes).toBe(59);
    }
  });

  test("adds what the server reports about the blob", async () => {
    const inner = memory();
    const address = await aliceStore({ backend: inner }).put("x");
    const knows = (sha256: string) =>
      aliceStore({
        backend: {
          ...inner,
          head: async () => ({ size: 1, sha256, storedAt: 1000, encryption: "AES256" }),
        },
      }).inspect(address);
    expect(await knows(address)).toMatchObject({
      verifiedByServer: true,
      storedAt: 1000,
      encryption: "AES256",
    });
    expect(await knows("0".repeat(64))).toMatchObject({ verifiedByServer: false });
    const silent = await aliceStore({
      backend: { ...inner, head: async () => ({ size: 1 }) },
    }).inspect(address);
    expect([silent.verifiedByServer, silent.storedAt]).toEqual([undefined, undefined]);
    const refusing = aliceStore({
      backend: {
        ...inner,
        head: async () => {
          throw new StorageError("permission", "no");
        },
      },
    });
    expect(await refusing.inspect(address)).toMatchObject({ kind: "root", recipients: 1 });
  });

  test("fails if the bytes do not match the address or are not a blob", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const address = await store.put("x");
    const bytes = await bytesOf(backend, address);
    bytes[100]! ^= 1;
    await backend.put(address, bytes);
    expect(await outcome(store.inspect(address))).toBe("address");
    expect(await outcome(store.inspect("0".repeat(64)))).toBe("not-found");
    expect(await outcome(store.inspect("0".repeat(8)))).toBe("usage");
  });
});
