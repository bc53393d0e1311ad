import assert from "node:assert/strict";
import { type Backend, isBlobName, type ListedBlob } from "../backend/backend.ts";
import { blobOf, type Case, collect, newName } from "./cases.ts";

const PREFIXES = ["a0", "ab", "ab", "ac", "b0", "0a", "ff"];

/** Cases for listings. */
export function listCases(many: number): readonly Case[] {
  return [
    {
      name: "lists nothing if there are no blobs",
      async check({ backend }) {
        assert.deepEqual(await collect(backend.list("")), []);
        assert.deepEqual(await collect(backend.list("ab")), []);
      },
    },
    {
      name: "lists all blobs with their sizes",
      async check({ backend, reopen }) {
        const stored = await putPrefixes(backend);
        assert.deepEqual(await collect(backend.list("")), stored);
        assert.deepEqual(await collect((await reopen()).list("")), stored);
      },
    },
    {
      name: "lists the blobs whose names start with a prefix",
      async check({ backend }) {
        const stored = await putPrefixes(backend);
        const whole = stored.find(({ name }) => name.startsWith("ab"))!.name;
        for (const prefix of ["a", "ab", "b", "0", whole.slice(0, 3), whole.slice(0, 63), whole]) {
          const expected = stored.filter(({ name }) => name.startsWith(prefix));
          assert.deepEqual(await collect(backend.list(prefix)), expected, `prefix ${prefix}`);
        }
      },
    },
    {
      name: "lists nothing for a prefix that matches no name",
      async check({ backend }) {
        await putPrefixes(backend);
        // Such digits may occur elsewhere in names.
        for (const prefix of ["ba", "c", "fe", newName("ab"), newName("ee")]) {
          assert.deepEqual(await collect(backend.list(prefix)), [], `prefix ${prefix}`);
        }
      },
    },
    {
      name: "lists a replaced blob once, with its new size",
      async check({ backend }) {
        const name = newName();
        await backend.put(name, blobOf(500));
        await backend.put(name, blobOf(20));
        assert.deepEqual(await collect(backend.list("")), [{ name, size: 20 }]);
      },
    },
    {
      name: "does not list a deleted blob",
      async check({ backend }) {
        const [deleted, kept] = [newName("ab"), newName("ab")];
        await backend.put(deleted, blobOf(1));
        await backend.put(kept, blobOf(2));
        await backend.delete(deleted);
        assert.deepEqual(await collect(backend.list("")), [{ name: kept, size: 2 }]);
      },
    },
    {
      // One case, because storing the blobs takes much longer than listing them.
      name: `lists each of ${many} blobs once, by prefix too, and in order if it has listAfter`,
      async check({ backend }) {
        const some = await putMany(backend, many, "7e");
        const stored = sorted([...some, ...(await putMany(backend, many >> 2))]);
        const expected = (prefix: string, after = "") =>
          stored.filter(({ name }) => name.startsWith(prefix) && name > after);

        const listed = await collect(backend.list(""));
        assert.ok(listed.every(({ name }) => isBlobName(name)));
        assert.deepEqual(listed, stored);
        assert.deepEqual(await collect(backend.list("7e")), expected("7e"));

        if (backend.listAfter === undefined) return;
        assert.deepEqual(await inOrder(backend.list("")), stored);
        const between = `${some[1]!.name.slice(0, 60)}0000`;
        const afters = [some[0], some[many >> 1], some.at(-1)].map((blob) => blob!.name);
        for (const after of ["0".repeat(64), between, ...afters, "f".repeat(64)]) {
          for (const prefix of ["", "7e", "7f"]) {
            const found = await inOrder(backend.listAfter(prefix, after));
            assert.deepEqual(found, expected(prefix, after), `prefix ${prefix} after ${after}`);
          }
        }
      },
    },
    {
      name: "lets a caller leave a listing midway",
      async check({ backend }) {
        const stored = await putPrefixes(backend);
        for (let i = 0; i < 10; i++) {
          for await (const { name } of backend.list("")) {
            assert.ok(isBlobName(name));
            break;
          }
        }
        assert.deepEqual(await collect(backend.list("")), stored);
      },
    },
    {
      name: "lists every blob that remains while others are stored and deleted",
      async check({ backend }) {
        const remaining = await putMany(backend, 50);
        const transient = await putMany(backend, 50);
        const seen: ListedBlob[] = [];
        for await (const blob of backend.list("")) {
          seen.push(blob);
          const { name } = transient.pop() ?? { name: newName() };
          await backend.delete(name);
          if (seen.length < 100) await backend.put(newName(), blobOf(1));
        }
        const names = new Set(seen.map(({ name }) => name));
        assert.equal(names.size, seen.length, "a name was listed twice");
        for (const { name } of remaining) assert.ok(names.has(name), `${name} was not listed`);
      },
    },
  ];
}

async function inOrder(blobs: AsyncIterable<ListedBlob>): Promise<ListedBlob[]> {
  const all: ListedBlob[] = [];
  for await (const { name, size } of blobs) all.push({ name, size });
  return all;
}

function putPrefixes(backend: Backend): Promise<ListedBlob[]> {
  return putAll(
    backend,
    PREFIXES.map((prefix, i) => ({ name: newName(prefix), size: i * 7 })),
  );
}

function putMany(backend: Backend, count: number, prefix = ""): Promise<ListedBlob[]> {
  return putAll(
    backend,
    Array.from({ length: count }, (_, i) => ({ name: newName(prefix), size: i % 5 })),
  );
}

async function putAll(backend: Backend, blobs: ListedBlob[]): Promise<ListedBlob[]> {
  for (let i = 0; i < blobs.length; i += 16) {
    const some = blobs.slice(i, i + 16);
    await Promise.all(some.map(({ name, size }) => backend.put(name, blobOf(size))));
  }
  return sorted(blobs);
}

function sorted(blobs: readonly ListedBlob[]): ListedBlob[] {
  return blobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
