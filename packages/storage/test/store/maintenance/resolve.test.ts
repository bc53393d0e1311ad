import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { aliceStore, outcome } from "../../support.ts";
import { watched } from "../watched.ts";

/** The digits that A and B have in common: the fewest that `resolve` takes. */
const SHARED = "01234567890123456789";
const A = SHARED.padEnd(64, "a");
const B = SHARED.padEnd(64, "b");

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
    expect(await store.resolve("f".repeat(20))).toBe("f".repeat(64) as never);
    expect(await store.resolve(A.slice(0, 21))).toBe(A as never);
    expect(await store.resolve(B.slice(0, 63))).toBe(B as never);
    expect(listed).toEqual(["f".repeat(20), A.slice(0, 21), B.slice(0, 63)]);
  });

  test("takes fewer digits only if minDigits allows it", async () => {
    const { store, listed } = await storeWith(A, "f".repeat(64));
    const error = await store.resolve("f".repeat(19)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "usage" });
    expect(String(error)).toContain("at least its first 20 digits, got 19");
    expect(await outcome(store.resolve("f".repeat(12), { minDigits: 13 }))).toBe("usage");
    expect(listed).toEqual([]);
    expect(await store.resolve("f".repeat(8), { minDigits: 8 })).toBe("f".repeat(64) as never);
    expect(await outcome(store.resolve(A.slice(0, 63), { minDigits: 64 }))).toBe("usage");
    expect(await store.resolve(A, { minDigits: 64 })).toBe(A as never);
    for (const minDigits of [7, 65, 8.5, Number.NaN, "8" as never]) {
      expect(await outcome(store.resolve("f".repeat(30), { minDigits }))).toBe("usage");
    }
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
    const error = await few.store.resolve(SHARED).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "usage" });
    expect(String(error)).toEndWith(`begin with ${SHARED}, give more digits: ${A}, ${B}`);

    const names = Array.from({ length: 16 }, (_, i) => `${SHARED}${i.toString(16).repeat(44)}`);
    const many = await storeWith(...names);
    const { message } = (await many.store.resolve(SHARED).catch((e: unknown) => e)) as Error;
    expect([...(message.match(/[0-9a-f]{64}/gu) ?? [])]).toEqual(names.slice(0, 4));
    expect(message).toEndWith(" and more");
  });

  test("does not find a prefix that no address has", async () => {
    const { store } = await storeWith(A);
    expect(await outcome(store.resolve(`${SHARED.slice(0, -1)}8`))).toBe("not-found");
  });

  test.each<[text: unknown]>([
    [""],
    ["01234567"],
    [SHARED.slice(0, 19)],
    [`${SHARED}X`],
    ["ABCDEF0123".repeat(2)],
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
    expect(await outcome(store.resolve(SHARED, { signal: AbortSignal.abort() }))).toBe("aborted");
  });
});
