import { describe, expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { withLimit } from "../../src/backend/limit.ts";
import { memory } from "../../src/backend/memory.ts";
import { withRetry } from "../../src/backend/retry.ts";
import { wrapBackend } from "../../src/backend/wrap.ts";

const NAME = "ab".repeat(32);

type OptionalMember = {
  [Key in keyof Backend]-?: undefined extends Backend[Key] ? Key : never;
}[keyof Backend];

/** Every optional member: the compiler rejects this table if the contract gets a new one. */
const OPTIONAL: { [Key in OptionalMember]: NonNullable<Backend[Key]> } = {
  local: true,
  getRange: async () => 1,
  async *listAfter() {},
  capabilities: async () => ({ verifiesChecksums: true, conditionalPut: false, versions: false }),
  clockAheadMs: () => -7,
  putMarker: async () => {},
  async *listMarkers() {},
  deleteMarker: async () => {},
  currentTime: async () => 5,
  presign: async () => ({ expires: new Date(0), temporary: false, urlOf: (name) => name }),
  close: async () => {},
};

const DECORATORS: [name: string, decorate: (backend: Backend) => Backend][] = [
  ["wrapBackend", (backend) => wrapBackend(backend)],
  ["withRetry", (backend) => withRetry(backend)],
  ["withLimit", (backend) => withLimit(backend, 1)],
];

describe.each(DECORATORS)("%s", (_, decorate) => {
  const { description, put, get, head, delete: remove, list } = memory();
  const required: Backend = { description, put, get, head, delete: remove, list };

  test("keeps every optional member", () => {
    const full: Backend = { ...required, ...OPTIONAL };
    expect(Object.keys(decorate(full)).toSorted()).toEqual(Object.keys(full).toSorted());
  });

  test("adds no member that the inner backend lacks", () => {
    expect(Object.keys(decorate(required)).toSorted()).toEqual(Object.keys(required).toSorted());
    for (const key of Object.keys(OPTIONAL) as OptionalMember[]) {
      const backend = decorate({ ...required, [key]: OPTIONAL[key] });
      expect(Object.keys(backend)).toContain(key);
      expect(Object.keys(backend)).toHaveLength(Object.keys(required).length + 1);
    }
  });
});

describe("wrapBackend", () => {
  test("replaces a method and passes it the inner one", async () => {
    const inner = memory();
    const seen: unknown[] = [];
    const backend = wrapBackend(inner, {
      put:
        (put) =>
        async (...call) => {
          seen.push(call);
          await put(...call);
        },
    });
    const options = { sha256: NAME };
    const bytes = Uint8Array.of(1, 2, 3);
    await backend.put(NAME, bytes, options);
    expect(seen).toEqual([[NAME, bytes, options]]);
    expect(await inner.head(NAME)).toMatchObject({ size: 3 });
  });

  test("ignores the wrapper of a method that the inner backend lacks", () => {
    const backend = wrapBackend(memory(), { capabilities: (capabilities) => capabilities });
    expect(backend).not.toHaveProperty("capabilities");
  });

  test("keeps the methods of a class instance and their `this`", async () => {
    class Counter implements Backend {
      readonly description = "counter";
      readonly #inner = memory();
      closed = 0;
      put: Backend["put"] = (...call) => this.#inner.put(...call);
      get: Backend["get"] = (...call) => this.#inner.get(...call);
      head: Backend["head"] = (...call) => this.#inner.head(...call);
      delete: Backend["delete"] = (...call) => this.#inner.delete(...call);
      list(prefix: string) {
        return this.#inner.list(prefix);
      }
      async close() {
        this.closed += 1;
      }
    }
    const inner = new Counter();
    const backend = { ...wrapBackend(inner) };
    await backend.put(NAME, Uint8Array.of(1));
    expect(await Array.fromAsync(backend.list(""))).toMatchObject([{ name: NAME, size: 1 }]);
    await backend.close?.();
    expect(inner.closed).toBe(1);
  });
});
