import { describe, expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { withLimit } from "../../src/backend/limit.ts";
import { memory } from "../../src/backend/memory.ts";
import { attesting } from "./attesting.ts";
import { rejects } from "./rejects.ts";

const NAMES = ["0", "1", "2", "3", "4", "5"].map((digit) => digit.repeat(64));
const BYTES = Uint8Array.of(1, 2, 3);

/** A backend whose calls wait until they are released. */
function gated() {
  const inner = attesting();
  const begun: string[] = [];
  const waiting: (() => void)[] = [];
  const seen = { inFlight: 0, most: 0 };
  const gate = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    begun.push(what);
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await call();
    } finally {
      seen.inFlight -= 1;
    }
  };
  const backend: Backend = {
    ...inner,
    put: async (...given) => gate(`put ${given[0][0]}`, () => inner.put(...given)),
    get: async (...given) => gate(`get ${given[0][0]}`, () => inner.get(...given)),
    head: async (...given) => gate(`head ${given[0][0]}`, () => inner.head(...given)),
    delete: async (...given) => gate(`delete ${given[0][0]}`, () => inner.delete(...given)),
  };
  /** Releases calls as they arrive, until no more arrive. */
  const openAll = async (): Promise<void> => {
    for (let idle = 0; idle < 3; idle++) {
      await Bun.sleep(1);
      if (waiting.length > 0) idle = 0;
      for (const resolve of waiting.splice(0)) resolve();
    }
  };
  return { backend, begun, waiting, seen, openAll };
}

describe("withLimit", () => {
  test.each([1, 2, 5])(
    "allows %d concurrent calls and queues the others in order",
    async (inFlight) => {
      const { backend, begun, seen, openAll } = gated();
      const limited = withLimit(backend, inFlight);
      const calls = NAMES.flatMap((name) => [
        limited.put(name, BYTES),
        limited.head(name),
        limited.get(name, new Uint8Array(3)).catch(() => 0),
        limited.delete(name),
      ]);
      await openAll();
      await Promise.all(calls);
      expect(seen.most).toBe(inFlight);
      expect(begun).toEqual(
        NAMES.flatMap(([digit]) => [
          `put ${digit}`,
          `head ${digit}`,
          `get ${digit}`,
          `delete ${digit}`,
        ]),
      );
    },
  );

  test("returns the results and errors of the backend", async () => {
    const inner = attesting();
    const limited = withLimit(inner, 1);
    await limited.put(NAMES[0]!, BYTES);
    expect(await limited.head(NAMES[0]!)).toEqual(await inner.head(NAMES[0]!));
    expect(await limited.get(NAMES[0]!, new Uint8Array(3))).toBe(3);
    await rejects(limited.get(NAMES[1]!, new Uint8Array(3)), "not-found");
    expect(await limited.capabilities!()).toMatchObject({ verifiesChecksums: true });
    expect(await Array.fromAsync(limited.listAfter!("", "0"))).toHaveLength(1);
    await limited.delete(NAMES[0]!);
    expect(await Array.fromAsync(limited.list(""))).toEqual([]);
  });

  test("releases the slot after a failure, even a synchronous one", async () => {
    const broken: Backend = {
      ...memory(),
      put: () => {
        throw new TypeError("a bug");
      },
    };
    const limited = withLimit(broken, 1);
    for (let i = 0; i < 3; i++) {
      expect(await limited.put(NAMES[0]!, BYTES).catch(String)).toBe("TypeError: a bug");
    }
    expect(await limited.head(NAMES[0]!)).toBeUndefined();
  });

  test("requires an integer of 1 or more", () => {
    for (const wrong of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => withLimit(memory(), wrong)).toThrow("must be an integer");
    }
  });
});

describe("a signal", () => {
  const reason = new Error("the user left");

  test("removes a queued call, which never reaches the backend", async () => {
    const { backend, begun, openAll } = gated();
    const limited = withLimit(backend, 1);
    const first = limited.put(NAMES[0]!, BYTES);
    const controller = new AbortController();
    const second = limited.put(NAMES[1]!, BYTES, controller);
    const third = limited.head(NAMES[2]!);
    await Bun.sleep(1);
    controller.abort(reason);
    // The first call still occupies the only slot.
    expect((await rejects(second, "aborted")).cause).toBe(reason);
    await openAll();
    await Promise.all([first, third]);
    expect(begun).toEqual(["put 0", "head 2"]);
  });

  test("that has fired rejects at once", async () => {
    const { backend, begun } = gated();
    const limited = withLimit(backend, 1);
    await rejects(limited.head(NAMES[0]!, { signal: AbortSignal.abort(reason) }), "aborted");
    expect(begun).toEqual([]);
  });

  test("is left to the backend once the call has started", async () => {
    const { backend, openAll } = gated();
    const controller = new AbortController();
    let settled = false;
    const call = withLimit(backend, 1)
      .put(NAMES[0]!, BYTES, controller)
      .finally(() => (settled = true));
    const rejected = rejects(call, "aborted");
    await Bun.sleep(1);
    controller.abort(reason);
    await Bun.sleep(5);
    // The bytes are borrowed until the backend settles.
    expect(settled).toBe(false);
    await openAll();
    await rejected;
  });
});

describe("a listing", () => {
  test("occupies no slot while its consumer makes other calls", async () => {
    const limited = withLimit(attesting(), 1);
    for (const name of NAMES) await limited.put(name, BYTES);
    const seen: string[] = [];
    for await (const { name } of limited.list("")) {
      seen.push(name);
      await limited.delete(name);
    }
    expect(seen).toEqual(NAMES);
  });

  test("waits for a slot", async () => {
    const { backend, openAll } = gated();
    const limited = withLimit(backend, 1);
    const put = limited.put(NAMES[0]!, BYTES);
    const listing = Array.fromAsync(limited.list(""));
    let listed = false;
    void listing.then(() => (listed = true));
    await Bun.sleep(5);
    expect(listed).toBe(false);
    await openAll();
    expect(await listing).toHaveLength(1);
    await put;
  });
});
