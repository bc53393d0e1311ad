import { aliceStore, drain, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { type Backend, StorageError, withRetry } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";
import { watched } from "../watched.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

describe("a damaged download", () => {
  /** Damages the given number of first downloads of each blob. */
  function flaky(inner: Backend, times: number, damage: (bytes: Uint8Array) => number) {
    const downloads = new Map<string, number>();
    const backend: Backend = {
      ...inner,
      local: false,
      get: async (name, buffer, options) => {
        const length = await inner.get(name, buffer, options);
        const before = downloads.get(name) ?? 0;
        downloads.set(name, before + 1);
        return before < times ? damage(buffer.subarray(0, length)) : length;
      },
    };
    return { backend, downloads };
  }
  const damages: Record<string, (bytes: Uint8Array) => number> = {
    "a flipped bit": (bytes) => {
      bytes[bytes.length >> 1]! ^= 1;
      return bytes.length;
    },
    "a cut": (bytes) => bytes.length - 1,
    "nothing at all": () => 0,
  };

  /** Writes other bytes into the buffer, says that they are there, and fails. */
  const broken = (buffer: Uint8Array, length: number, say: (length: number) => void): never => {
    say(0);
    buffer.fill(7, 0, length);
    say(length);
    throw new StorageError("unavailable", "the connection broke", { transient: true });
  };

  test("that broke off does not count, once the whole has come", async () => {
    const inner = memory();
    const content = random(2 * MiB);
    const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
    const begun = new Set<string>();
    const flakyOnce = withRetry({
      ...inner,
      local: false,
      async get(name, buffer, options = {}) {
        const { onReceived = () => {} } = options;
        if (!begun.has(name)) {
          begun.add(name);
          broken(buffer, 2 ** 17, onReceived);
        }
        onReceived(0);
        const length = await inner.get(name, buffer, options);
        for (let at = 2 ** 16; at < length; at += 2 ** 16) onReceived(at);
        onReceived(length);
        return length;
      },
    });
    const store = aliceStore({ backend: flakyOnce, chunkSize: CHUNK });
    expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
    expect(begun.size).toBe(9);
  });

  test.each([2 ** 17, 2 ** 18])(
    "of %i bytes that broke off does not count if another store, which reports nothing, has it",
    async (received) => {
      const inner = memory();
      const content = random(2 * MiB);
      const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
      let fallbacks = 0;
      const failover: Backend = {
        ...inner,
        local: false,
        async get(name, buffer, options = {}) {
          const { onReceived = () => {} } = options;
          try {
            return broken(buffer, Math.min(received, buffer.length), onReceived);
          } catch {
            fallbacks += 1;
            return inner.get(name, buffer, options);
          }
        },
      };
      const store = aliceStore({ backend: failover, chunkSize: CHUNK });
      expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
      expect(fallbacks).toBe(9);
    },
  );

  for (const [what, damage] of Object.entries(damages)) {
    test(`by ${what} is retried once before it counts`, async () => {
      const inner = memory();
      const content = random(2 * MiB);
      const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
      const once = flaky(inner, 1, damage);
      const store = aliceStore({ backend: once.backend, chunkSize: CHUNK });
      expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
      expect(new Set(once.downloads.values())).toEqual(new Set([2]));

      const twice = flaky(inner, 2, damage);
      const damaged = aliceStore({ backend: twice.backend, chunkSize: CHUNK });
      expect(await outcome(damaged.get(address))).toBe("address");
      expect(twice.downloads.get(address)).toBe(2);
    });
  }

  test("is not retried for any other error", async () => {
    const { backend, calls } = watched(memory());
    const store = aliceStore({ backend });
    expect(await outcome(store.get("0".repeat(64)))).toBe("not-found");
    const garbage = random(100);
    await backend.put(sha256(garbage), garbage);
    expect(await outcome(store.get(sha256(garbage)))).toBe("format");
    expect(calls.get).toHaveLength(2);
  });

  test("releases no byte of the damaged blob", async () => {
    const inner = memory();
    const content = random(2 * MiB);
    const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
    let gets = 0;
    const backend: Backend = {
      ...inner,
      get: async (name, buffer, options) => {
        const length = await inner.get(name, buffer, options);
        gets += 1;
        if (gets > 4) buffer[100]! ^= 1;
        return length;
      },
    };
    const blob = await aliceStore({ backend, chunkSize: CHUNK, concurrency: 1 }).get(address);
    const { bytes, error } = await drain(blob.stream());
    expect(error).toMatchObject({ code: "address" });
    expect(Buffer.compare(bytes, content.subarray(0, 3 * CHUNK))).toBe(0);
  });
});
