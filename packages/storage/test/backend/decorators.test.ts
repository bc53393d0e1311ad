import { describe, expect, test } from "bun:test";
import type { Backend } from "../../src/backend/backend.ts";
import { withLimit } from "../../src/backend/limit.ts";
import { memory } from "../../src/backend/memory.ts";
import { withRetry } from "../../src/backend/retry.ts";
import { attesting } from "./attesting.ts";

const NAMES = ["0", "1", "2", "3", "4", "5"].map((digit) => digit.repeat(64));
const NAME = NAMES[0]!;
const BYTES = Uint8Array.of(1, 2, 3);

const DECORATORS: [name: string, decorate: (backend: Backend) => Backend][] = [
  ["withRetry", (backend) => withRetry(backend)],
  ["withLimit", (backend) => withLimit(backend, 1)],
];

describe.each(DECORATORS)("%s", (_, decorate) => {
  test("has the methods of the backend and no others", async () => {
    const plain = decorate(memory());
    expect(plain.description).toBe("memory");
    expect(Object.keys(plain).toSorted()).toEqual(Object.keys(memory()).toSorted());
    let closed = 0;
    const full = decorate({
      ...attesting(),
      clockAheadMs: () => -7,
      close: async () => void (closed += 1),
    });
    expect(full.clockAheadMs!()).toBe(-7);
    expect(await full.capabilities!()).toMatchObject({ verifiesChecksums: true });
    await full.close!();
    expect(closed).toBe(1);
  });

  test("reads a range", async () => {
    const backend = decorate(memory());
    await backend.put(NAME, BYTES);
    const buffer = new Uint8Array(2);
    expect(await backend.getRange!(NAME, 1, buffer)).toBe(2);
    expect(buffer).toEqual(BYTES.subarray(1));
  });

  test("passes the arguments of a call on", async () => {
    const seen: unknown[] = [];
    const backend: Backend = { ...memory(), put: async (...given) => void seen.push(...given) };
    const options = { sha256: NAME };
    await decorate(backend).put(NAME, BYTES, options);
    expect(seen).toEqual([NAME, BYTES, options]);
  });

  test("closes a listing that its consumer leaves", async () => {
    let closed = 0;
    const backend: Backend = {
      ...memory(),
      async *list() {
        try {
          for (const name of NAMES) yield { name, size: 0 };
        } finally {
          closed += 1;
        }
      },
    };
    for await (const _ of decorate(backend).list("")) break;
    expect(closed).toBe(1);
  });
});
