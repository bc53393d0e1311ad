import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { aliceStore, outcome } from "../../support.ts";
import { watched } from "../watched.ts";

const A = "0123456789".padEnd(64, "a");
const B = "0123456789".padEnd(64, "b");

async function storeWith(...names: readonly string[]) {
  const backend = memory();
  for (const name of names) await backend.put(name, Uint8Array.of(1));
  const listed: string[] = [];
  const store = aliceStore({
    backend: {
      ...backend,
      list(prefix, options) {
        listed.push(prefix);
        return backend.list(prefix, options);
      },
    },
  });
  return { store, listed };
}

describe("resolve", () => {
  test("finds the one blob whose address starts with the prefix", async () => {
    const { store, listed } = await storeWith(A, B, "f".repeat(64));
    expect(await store.resolve("ffffffff")).toBe("f".repeat(64) as never);
    expect(await store.resolve(A.slice(0, 11))).toBe(A as never);
    expect(await store.resolve(B.slice(0, 63))).toBe(B as never);
    expect(listed).toEqual(["ffffffff", A.slice(0, 11), B.slice(0, 63)]);
  });

  test("returns a complete address without a request", async () => {
    const { backend, calls } = watched({
      ...memory(),
      list: () => {
        throw new Error("asked");
      },
    });
    expect(await aliceStore({ backend }).resolve(A)).toBe(A as never);
    expect(calls).toEqual({ put: [], get: [], head: [] });
  });

  test("rejects an ambiguous prefix, naming a few candidates", async () => {
    const few = await storeWith(B, A);
    const error = await few.store.resolve("01234567").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "usage" });
    expect(String(error)).toEndWith(`begin with 01234567, give more digits: ${A}, ${B}`);

    const names = Array.from({ length: 16 }, (_, i) => `01234567${i.toString(16).repeat(56)}`);
    const many = await storeWith(...names);
    const { message } = (await many.store.resolve("01234567").catch((e: unknown) => e)) as Error;
    expect([...(message.match(/[0-9a-f]{64}/gu) ?? [])]).toEqual(names.slice(0, 4));
    expect(message).toEndWith(" and more");
  });

  test("does not find a prefix that no address has", async () => {
    const { store } = await storeWith(A);
    expect(await outcome(store.resolve("01234568"))).toBe("not-found");
  });

  test.each<[text: unknown]>([
    [""],
    ["0123456"],
    ["01234567X"],
    ["ABCDEF0123"],
    ["../../../etc"],
    [`${A}0`],
    [`${A.slice(1)}\n`],
    [8],
  ])("rejects %p", async (text) => {
    const { store, listed } = await storeWith(A);
    expect(await outcome(store.resolve(text as string))).toBe("usage");
    expect(listed).toEqual([]);
  });

  test("stops when the signal fires", async () => {
    const { store } = await storeWith(A);
    expect(await outcome(store.resolve("01234567", { signal: AbortSignal.abort() }))).toBe(
      "aborted",
    );
  });
});
