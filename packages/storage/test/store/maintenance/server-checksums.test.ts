import { bytesOf, watched } from "../watched.ts";
import { aliceStore, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { type Backend, StorageError } from "../../../src/index.ts";
import { attesting } from "../../backend/attesting.ts";
import { memory } from "../../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

describe("verify with serverChecksums", () => {
  test("downloads nothing if the server has verified the checksum, and reports that", async () => {
    const { backend, calls, forget } = watched(attesting());
    const store = aliceStore({ backend, chunkSize: CHUNK });
    await store.put(random(2 * MiB));
    forget();
    for await (const { address, size } of store.list()) {
      expect(await store.verify(address, { serverChecksums: true })).toEqual({
        address,
        kind: undefined,
        blobs: 1,
        bytes: size,
        verifiedByServer: true,
      });
    }
    expect(calls.get).toEqual([]);
    expect(calls.head).toHaveLength(8 + 1);
  });

  const mostAtOnce = async (inner: Backend, concurrency?: number): Promise<number> => {
    const writer = aliceStore({ backend: inner });
    const addresses = await Promise.all(Array.from({ length: 80 }, (_, i) => writer.put(`${i}`)));
    const { backend, seen } = watched(inner, 50);
    const store = aliceStore({ backend, concurrency });
    const options = { serverChecksums: true };
    await Promise.all(addresses.map(async (address) => store.verify(address, options)));
    return seen.most;
  };

  test("asks for no more at once than the store's concurrency, and downloads no more", async () => {
    for (const open of [attesting, memory]) expect(await mostAtOnce(open(), 3)).toBe(3);
  });

  test("asks a store that is far away for many at once", async () => {
    expect(await mostAtOnce(attesting())).toBeGreaterThan(8);
  });

  test("downloads and checks the blob otherwise, and reports that", async () => {
    const inner = attesting();
    const address = await aliceStore({ backend: inner }).put("x");
    const silent: Backend = {
      ...inner,
      head: async (name) => ({ size: (await inner.head(name))!.size }),
    };
    const lying: Backend = {
      ...inner,
      head: async () => ({ size: 5, sha256: "0".repeat(64) }),
    };
    const { capabilities: _, ...plain } = inner;
    for (const target of [silent, lying, plain]) {
      const { backend, calls } = watched(target);
      const store = aliceStore({ backend });
      expect(await store.verify(address, { serverChecksums: true })).toMatchObject({
        kind: "root",
        verifiedByServer: false,
      });
      expect(calls.get).toEqual([address]);
    }
    const bytes = await bytesOf(inner, address);
    bytes[60]! ^= 1;
    await inner.put(address, bytes);
    const store = aliceStore({ backend: inner });
    expect(await outcome(store.verify(address, { serverChecksums: true }))).toBe("address");
    await inner.delete(address);
    expect(await outcome(store.verify(address, { serverChecksums: true }))).toBe("not-found");
  });

  test("rejects a verified blob that is longer than the format allows", async () => {
    const inner = attesting();
    const address = await aliceStore({ backend: inner }).put("x");
    const backend: Backend = { ...inner, head: async () => ({ size: 2 ** 25, sha256: address }) };
    expect(await outcome(aliceStore({ backend }).verify(address, { serverChecksums: true }))).toBe(
      "limit",
    );
  });

  test("cannot be combined with deep", async () => {
    const store = aliceStore({ backend: attesting() });
    const address = await store.put("x");
    expect(await outcome(store.verify(address, { serverChecksums: true, deep: true }))).toBe(
      "usage",
    );
  });
});

describe("stat", () => {
  test("reports encryption at rest if the backend can", async () => {
    const { backend, calls, forget } = watched(attesting());
    const store = aliceStore({ backend });
    const address = await store.put("x");
    forget();
    expect((await store.stat(address)).encryption).toBe("AES256");
    expect(calls).toEqual({ put: [], get: [address], head: [address] });
  });

  test("asks for it while it reads the root, and waits for both", async () => {
    const inner = attesting();
    const address = await aliceStore({ backend: inner }).put("x");
    let [pending, most] = [0, 0];
    const asked = async <T>(milliseconds: number, call: () => Promise<T>): Promise<T> => {
      pending += 1;
      most = Math.max(most, pending);
      await Bun.sleep(milliseconds);
      return call().finally(() => {
        pending -= 1;
      });
    };
    let fails = "";
    const failing = async (name: string) => {
      if (fails === name) throw new StorageError("unavailable", `no ${name}`);
    };
    const backend: Backend = {
      ...inner,
      get: async (...given) =>
        asked(2, async () => {
          await failing("get");
          return inner.get(...given);
        }),
      head: async (...given) =>
        asked(8, async () => {
          await failing("head");
          return inner.head(...given);
        }),
    };
    const store = aliceStore({ backend });
    expect((await store.stat(address)).encryption).toBe("AES256");
    expect(most).toBe(2);
    for (fails of ["get", "head"]) {
      expect(await outcome(store.stat(address))).toBe("unavailable");
      expect(pending).toBe(0);
    }
  });

  test("makes no extra request and omits the field otherwise", async () => {
    const { backend, calls } = watched(memory());
    const store = aliceStore({ backend });
    const stat = await store.stat(await store.put("x"));
    expect("encryption" in stat).toBe(false);
    expect(calls.head).toEqual([]);
  });
});
