import assert from "node:assert/strict";
import { type Case, blobOf, collect, newName } from "./cases.ts";
import { type Backend, isBlobName, type ListedBlob } from "../backend/backend.ts";

const BEGINNINGS = ["a0", "ab", "ab", "ac", "b0", "0a", "ff"];

/** Which blobs there are. */
export function listCases(many: number): readonly Case[] {
  return [
    {
      name: "lists nothing where nothing is",
      async check({ backend }) {
        assert.deepEqual(await collect(backend.list("")), []);
        assert.deepEqual(await collect(backend.list("ab")), []);
      },
    },
    {
      name: "lists all blobs with their sizes",
      async check({ backend, reopen }) {
        const stored = await putBeginnings(backend);
        assert.deepEqual(await collect(backend.list("")), stored);
        assert.deepEqual(await collect((await reopen()).list("")), stored);
      },
    },
    {
      name: "lists the blobs whose names begin with a prefix",
      async check({ backend }) {
        const stored = await putBeginnings(backend);
        const whole = stored.find(({ name }) => name.startsWith("ab"))!.name;
        for (const prefix of ["a", "ab", "b", "0", whole.slice(0, 3), whole.slice(0, 63), whole]) {
          const expected = stored.filter(({ name }) => name.startsWith(prefix));
          assert.deepEqual(await collect(backend.list(prefix)), expected, `prefix ${prefix}`);
        }
      },
    },
    {
      name: "lists nothing for a prefix that no name has",
      async check({ backend }) {
        await putBeginnings(backend);
        // "b" and "ba" occur within names and in the middle of others' first digits.
        for (const prefix of ["ba", "c", "fe", newName("ab"), newName("ee")]) {
          assert.deepEqual(await collect(backend.list(prefix)), [], `prefix ${prefix}`);
        }
      },
    },
    {
      name: "lists the size of what replaced a blob, once",
      async check({ backend }) {
        const name = newName();
        await backend.put(name, blobOf(500));
        await backend.put(name, blobOf(20));
        assert.deepEqual(await collect(backend.list("")), [{ name, size: 20 }]);
      },
    },
    {
      name: "lists a deleted blob no more",
      async check({ backend }) {
        const [gone, kept] = [newName("ab"), newName("ab")];
        await backend.put(gone, blobOf(1));
        await backend.put(kept, blobOf(2));
        await backend.delete(gone);
        assert.deepEqual(await collect(backend.list("")), [{ name: kept, size: 2 }]);
      },
    },
    {
      name: `lists ${many} blobs, each once and under its name`,
      async check({ backend }) {
        const stored = await putMany(backend, many);
        const listed = await collect(backend.list(""));
        assert.ok(listed.every(({ name }) => isBlobName(name)));
        assert.deepEqual(listed, stored);
      },
    },
    {
      name: "lists many blobs of one prefix, each once",
      async check({ backend }) {
        const stored = await putMany(backend, many, "7e");
        assert.deepEqual(await collect(backend.list("7e")), stored);
      },
    },
    {
      name: "lists in the order of names, and goes on behind any, if it can go on at all",
      async check({ backend }) {
        if (backend.listAfter === undefined) return;
        const stored = await putMany(backend, many, "7e");
        assert.deepEqual(await inOrder(backend.list("")), stored);
        const between = `${stored[1]!.name.slice(0, 60)}0000`;
        const afters = [stored[0], stored[many >> 1], stored.at(-1)].map((blob) => blob!.name);
        for (const after of ["0".repeat(64), between, ...afters, "f".repeat(64)]) {
          const expected = stored.filter(({ name }) => name > after);
          for (const prefix of ["", "7e"]) {
            assert.deepEqual(await inOrder(backend.listAfter(prefix, after)), expected, after);
          }
          assert.deepEqual(await inOrder(backend.listAfter("7f", after)), []);
        }
      },
    },
    {
      name: "can be left in the middle of a listing",
      async check({ backend }) {
        const stored = await putBeginnings(backend);
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
      name: "lists every blob that stays, while others come and go",
      async check({ backend }) {
        const staying = await putMany(backend, 50);
        const passing = await putMany(backend, 50);
        const seen: ListedBlob[] = [];
        for await (const blob of backend.list("")) {
          seen.push(blob);
          const { name } = passing.pop() ?? { name: newName() };
          await backend.delete(name);
          if (seen.length < 100) await backend.put(newName(), blobOf(1));
        }
        const names = new Set(seen.map(({ name }) => name));
        assert.equal(names.size, seen.length, "a name was listed twice");
        for (const { name } of staying) assert.ok(names.has(name), `${name} was not listed`);
      },
    },
  ];
}

async function inOrder(blobs: AsyncIterable<ListedBlob>): Promise<ListedBlob[]> {
  const all: ListedBlob[] = [];
  for await (const { name, size } of blobs) all.push({ name, size });
  return all;
}

function putBeginnings(backend: Backend): Promise<ListedBlob[]> {
  return putAll(
    backend,
    BEGINNINGS.map((beginning, i) => ({ name: newName(beginning), size: i * 7 })),
  );
}

function putMany(backend: Backend, count: number, beginning = ""): Promise<ListedBlob[]> {
  return putAll(
    backend,
    Array.from({ length: count }, (_, i) => ({ name: newName(beginning), size: i % 5 })),
  );
}

async function putAll(backend: Backend, blobs: ListedBlob[]): Promise<ListedBlob[]> {
  for (let i = 0; i < blobs.length; i += 16) {
    const some = blobs.slice(i, i + 16);
    await Promise.all(some.map(({ name, size }) => backend.put(name, blobOf(size))));
  }
  return blobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
