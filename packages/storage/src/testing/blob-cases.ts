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

/** One blob at a time: put, get, head and delete. */
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
        name: `gives back a blob of ${size} bytes`,
        async check({ backend }): Promise<void> {
          const [name, bytes] = [newName(), blobOf(size)];
          await backend.put(name, bytes);
          await assertHolds(backend, name, bytes);
          assert.equal((await backend.head(name))?.size, size);
        },
      }) satisfies Case,
  ),

  {
    name: "keeps what was put when opened again",
    async check({ backend, reopen }) {
      const [name, bytes] = [newName(), blobOf(70 * KIB)];
      await backend.put(name, bytes);
      await assertHolds(await reopen(), name, bytes);
    },
  },
  {
    name: "keeps blobs apart",
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
    name: "takes the same blob twice",
    async check({ backend }) {
      const [name, bytes] = [newName(), blobOf(1000)];
      await backend.put(name, bytes);
      await backend.put(name, bytes);
      await assertHolds(backend, name, bytes);
    },
  },
  {
    name: "stores only the part of memory it was given",
    async check({ backend }) {
      const [name, memory] = [newName(), blobOf(3000)];
      await backend.put(name, memory.subarray(1000, 2000));
      await assertHolds(backend, name, memory.slice(1000, 2000));
    },
  },
  {
    name: "keeps its own copy once a put has settled",
    async check({ backend }) {
      const [name, lent] = [newName(), blobOf(100 * KIB)];
      const original = lent.slice();
      await backend.put(name, lent);
      lent.fill(0);
      await assertHolds(backend, name, original);
    },
  },
  {
    name: "leaves the bytes it is given as they are",
    async check({ backend }) {
      const lent = blobOf(100 * KIB);
      await backend.put(newName(), lent);
      assertSame(lent, blobOf(100 * KIB));
    },
  },
  {
    name: "keeps no hold on the reader's buffer",
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
    name: "leaves the rest of a longer buffer and the memory around it alone",
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
    name: "refuses a blob longer than the buffer, and stays within it",
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
    name: "gives the beginning of a blob as far as the buffer goes, if it can",
    async check({ backend }) {
      if (backend.getPrefix === undefined) return;
      for (const size of [0, 1, 1000, MIB]) {
        const [name, bytes] = [newName(), blobOf(size)];
        await backend.put(name, bytes);
        for (const room of [0, 1, 999, 1000, 1001]) {
          const memory = new Uint8Array(3000).fill(0xa5);
          const expected = memory.slice();
          expected.set(bytes.subarray(0, room), 500);
          const length = await backend.getPrefix(name, memory.subarray(500, 500 + room));
          assert.equal(length, Math.min(size, room), `of ${size} bytes, with room for ${room}`);
          assertSame(memory, expected);
        }
      }
      await fails(backend.getPrefix(newName(), new Uint8Array(100)), "not-found");
    },
  },

  {
    name: "reports a missing blob as not found, and leaves the buffer alone",
    async check({ backend }) {
      const buffer = new Uint8Array(100);
      await fails(backend.get(newName(), buffer), "not-found");
      assertSame(buffer, new Uint8Array(100));
    },
  },
  {
    name: "reports a missing blob as not found beside one with nearly its name",
    async check({ backend }) {
      const name = `${newName().slice(0, -1)}0`;
      await backend.put(name, blobOf(10));
      await assertMissing(backend, `${name.slice(0, -1)}1`);
    },
  },
  {
    name: "knows nothing of a missing blob",
    async check({ backend }) {
      assert.equal(await backend.head(newName()), undefined);
    },
  },

  {
    name: "deletes a blob, and only that one",
    async check({ backend, reopen }) {
      const [gone, kept] = [newName("aa"), newName("aa")];
      await backend.put(gone, blobOf(100));
      await backend.put(kept, blobOf(200));
      await backend.delete(gone);
      await assertMissing(backend, gone);
      await assertMissing(await reopen(), gone);
      await assertHolds(backend, kept, blobOf(200));
    },
  },
  {
    name: "deletes what is not there, as often as asked",
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
    name: "deletes a blob that was replaced, with all that it was before",
    async check({ backend, reopen }) {
      const name = newName();
      for (const size of [100, 200, 300]) await backend.put(name, blobOf(size));
      await backend.delete(name);
      await assertMissing(backend, name);
      await assertMissing(await reopen(), name);
      assert.deepEqual(await collect(backend.list("")), []);
      // Again, for a place that hides what it deletes: what it hid must not come back.
      await backend.delete(name);
      await assertMissing(backend, name);
    },
  },
  {
    name: "takes a blob again after it was deleted",
    async check({ backend }) {
      const name = newName();
      await backend.put(name, blobOf(2000, 1));
      await backend.delete(name);
      await backend.put(name, blobOf(1000, 2));
      await assertHolds(backend, name, blobOf(1000, 2));
    },
  },
];
