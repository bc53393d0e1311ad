import assert from "node:assert/strict";
import {
  assertHolds,
  assertMissing,
  assertSame,
  blobOf,
  type Case,
  collect,
  fails,
  KIB,
  LONGEST,
  MIB,
  newName,
  read,
} from "./cases.ts";

const SIZES = [0, 1, 59, 64 * KIB, MIB, LONGEST];

/** Cases for put, get, head and delete. */
export const blobCases: readonly Case[] = [
  {
    name: "describes itself in one line",
    async check({ backend }) {
      assert.match(backend.description, /^\S.*$/u);
    },
  },

  ...SIZES.map(
    (size) =>
      ({
        name: `returns a blob of ${size} bytes`,
        async check({ backend }): Promise<void> {
          const [name, bytes] = [newName(), blobOf(size)];
          await backend.put(name, bytes);
          await assertHolds(backend, name, bytes);
          assert.equal((await backend.head(name))?.size, size);
        },
      }) satisfies Case,
  ),

  {
    name: "keeps a blob when reopened",
    async check({ backend, reopen }) {
      const [name, bytes] = [newName(), blobOf(70 * KIB)];
      await backend.put(name, bytes);
      await assertHolds(await reopen(), name, bytes);
    },
  },
  {
    name: "keeps blobs with similar names separate",
    async check({ backend }) {
      const shared = newName();
      const names = ["0", "1", "f"].map((digit) => shared.slice(0, -1) + digit);
      for (const [i, name] of names.entries()) await backend.put(name, blobOf(100 + i, i));
      for (const [i, name] of names.entries()) await assertHolds(backend, name, blobOf(100 + i, i));
    },
  },
  {
    name: "replaces a blob with a longer and with a shorter one",
    async check({ backend }) {
      const name = newName();
      for (const [seed, size] of [1000, 5000, 10, 0, 1].entries()) {
        const bytes = blobOf(size, seed);
        await backend.put(name, bytes);
        await assertHolds(backend, name, bytes);
        assert.equal((await backend.head(name))?.size, size);
      }
    },
  },
  {
    name: "stores the same blob twice",
    async check({ backend }) {
      const [name, bytes] = [newName(), blobOf(1000)];
      await backend.put(name, bytes);
      await backend.put(name, bytes);
      await assertHolds(backend, name, bytes);
    },
  },
  {
    name: "stores only the given part of a buffer",
    async check({ backend }) {
      const [name, memory] = [newName(), blobOf(3000)];
      await backend.put(name, memory.subarray(1000, 2000));
      await assertHolds(backend, name, memory.slice(1000, 2000));
    },
  },
  {
    name: "does not depend on the bytes after put has settled",
    async check({ backend }) {
      const [name, borrowed] = [newName(), blobOf(100 * KIB)];
      const original = borrowed.slice();
      await backend.put(name, borrowed);
      borrowed.fill(0);
      await assertHolds(backend, name, original);
    },
  },
  {
    name: "does not change the bytes of a put",
    async check({ backend }) {
      const borrowed = blobOf(100 * KIB);
      await backend.put(newName(), borrowed);
      assertSame(borrowed, blobOf(100 * KIB));
    },
  },
  {
    name: "does not depend on the buffer after get has settled",
    async check({ backend }) {
      const [name, bytes] = [newName(), blobOf(100 * KIB)];
      await backend.put(name, bytes);
      (await read(backend, name, bytes.length)).fill(0);
      await assertHolds(backend, name, bytes);
    },
  },

  {
    name: "fills a buffer of exactly the blob's length",
    async check({ backend }) {
      for (const size of [0, 1, 64 * KIB]) {
        const [name, bytes, buffer] = [newName(), blobOf(size), new Uint8Array(size)];
        await backend.put(name, bytes);
        assert.equal(await backend.get(name, buffer), size);
        assertSame(buffer, bytes);
      }
    },
  },
  {
    name: "reports as received only what is in the buffer and stays",
    async check({ backend }) {
      const [name, bytes, buffer] = [newName(), blobOf(MIB), new Uint8Array(MIB + 9)];
      await backend.put(name, bytes);
      for (let round = 0; round < 2; round++) {
        let last: number | undefined;
        const onReceived = (length: number): void => {
          // From 0 on, and from there again if it starts anew.
          assert(length === 0 || (last !== undefined && length >= last), `${last}, then ${length}`);
          assertSame(buffer.subarray(0, length), bytes.subarray(0, length));
          last = length;
        };
        assert.equal(await backend.get(name, buffer, { onReceived }), MIB);
        assertSame(buffer.subarray(0, MIB), bytes);
        buffer.fill(0);
      }
    },
  },
  {
    name: "writes nothing after the blob in a longer buffer, and nothing outside the buffer",
    async check({ backend }) {
      const [name, bytes] = [newName(), blobOf(1000)];
      await backend.put(name, bytes);
      const memory = new Uint8Array(4000).fill(0xa5);
      const expected = memory.slice();
      expected.set(bytes, 500);
      assert.equal(await backend.get(name, memory.subarray(500, 3500)), 1000);
      assertSame(memory, expected);
    },
  },
  {
    name: "rejects a blob longer than the buffer, and writes nothing outside the buffer",
    async check({ backend }) {
      const name = newName();
      await backend.put(name, blobOf(1000));
      for (const room of [0, 1, 999]) {
        const memory = new Uint8Array(3000);
        await fails(backend.get(name, memory.subarray(1000, 1000 + room)), "limit");
        memory.fill(0, 1000, 1000 + room);
        assertSame(memory, new Uint8Array(3000));
      }
    },
  },
  {
    name: "reads a range of a blob, if it has getRange",
    async check({ backend }) {
      if (backend.getRange === undefined) return;
      for (const size of [0, 1, 1000, MIB]) {
        const [name, bytes] = [newName(), blobOf(size)];
        await backend.put(name, bytes);
        for (const room of [0, 1, 999, 1000, 1001]) {
          for (const offset of [0, 1, size - 64, size - 1, size, size + 1]) {
            if (offset < 0) continue;
            const memory = new Uint8Array(3000).fill(0xa5);
            const expected = memory.slice();
            const range = bytes.subarray(offset, offset + room);
            expected.set(range, 500);
            const buffer = memory.subarray(500, 500 + room);
            const length = await backend.getRange(name, offset, buffer);
            const what = `${size} bytes from ${offset} into a buffer of ${room}`;
            assert.equal(length, range.length, what);
            assertSame(memory, expected);
          }
        }
      }
      await fails(backend.getRange(newName(), 5, new Uint8Array(100)), "not-found");
    },
  },

  {
    name: "fails with not-found for a missing blob, and does not change the buffer",
    async check({ backend }) {
      const buffer = new Uint8Array(100);
      await fails(backend.get(newName(), buffer), "not-found");
      assertSame(buffer, new Uint8Array(100));
    },
  },
  {
    name: "fails with not-found for a missing blob with a similar name",
    async check({ backend }) {
      const name = `${newName().slice(0, -1)}0`;
      await backend.put(name, blobOf(10));
      await assertMissing(backend, `${name.slice(0, -1)}1`);
    },
  },
  {
    name: "returns undefined from head for a missing blob",
    async check({ backend }) {
      assert.equal(await backend.head(newName()), undefined);
    },
  },

  {
    name: "deletes a blob, and only that one",
    async check({ backend, reopen }) {
      const [deleted, kept] = [newName("aa"), newName("aa")];
      await backend.put(deleted, blobOf(100));
      await backend.put(kept, blobOf(200));
      await backend.delete(deleted);
      await assertMissing(backend, deleted);
      await assertMissing(await reopen(), deleted);
      await assertHolds(backend, kept, blobOf(200));
    },
  },
  {
    name: "deletes a missing blob without an error",
    async check({ backend }) {
      const name = newName();
      await backend.delete(name);
      await backend.put(name, blobOf(100));
      await backend.delete(name);
      await backend.delete(name);
      await assertMissing(backend, name);
    },
  },
  {
    name: "deletes a replaced blob with all its versions",
    async check({ backend, reopen }) {
      const name = newName();
      for (const size of [100, 200, 300]) await backend.put(name, blobOf(size));
      await backend.delete(name);
      await assertMissing(backend, name);
      await assertMissing(await reopen(), name);
      assert.deepEqual(await collect(backend.list("")), []);
      // Again, because a store with versions may uncover an older one.
      await backend.delete(name);
      await assertMissing(backend, name);
    },
  },
  {
    name: "stores a blob again after it was deleted",
    async check({ backend }) {
      const name = newName();
      await backend.put(name, blobOf(2000, 1));
      await backend.delete(name);
      await backend.put(name, blobOf(1000, 2));
      await assertHolds(backend, name, blobOf(1000, 2));
    },
  },
];
