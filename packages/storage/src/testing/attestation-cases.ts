import assert from "node:assert/strict";
import {
  assertHolds,
  assertMissing,
  blobOf,
  type Case,
  collect,
  fails,
  hashOf,
  KIB,
  LONGEST,
  newName,
} from "./cases.ts";
import type { Backend } from "../backend/backend.ts";
import { StorageError } from "../errors.ts";

const SIZES = [0, 1, 100 * KIB, LONGEST];

/**
 * What the place can do and what it knows of its blobs. What a backend does not claim, it need not
 * do; but what it says is true, since whole uploads are left out on the strength of it.
 */
export const attestationCases: readonly Case[] = [
  {
    name: "says what it can do, and the same to everyone who asks",
    async check({ backend, reopen }) {
      const first = await backend.capabilities?.();
      if (first === undefined) return;
      for (const key of ["verifiesChecksums", "conditionalPut", "versions"] as const) {
        assert.equal(typeof first[key], "boolean", key);
      }
      assert.ok(["undefined", "string"].includes(typeof first.encryption), "encryption");
      const again = [backend, backend, await reopen()].map(async (other) => other.capabilities?.());
      for (const said of await Promise.all(again)) assert.deepEqual(said, first);
      await backend.put(newName(), blobOf(100));
      assert.deepEqual(await backend.capabilities?.(), first);
    },
  },
  {
    name: "leaves nothing behind when it finds out what it can do",
    async check({ backend, reopen }) {
      await backend.capabilities?.();
      assert.deepEqual(await collect(backend.list("")), []);
      assert.deepEqual(await collect((await reopen()).list("")), []);
    },
  },
  {
    name: "can be asked again what it can do when the first who asked gave up",
    async check({ backend, reopen }) {
      if (backend.capabilities === undefined) return;
      await ignoringAbort(backend.capabilities({ signal: AbortSignal.abort() }));
      const said = await backend.capabilities();
      // Others who wait for the same answer still get it.
      const other = await reopen();
      const controller = new AbortController();
      const leaving = other.capabilities!(controller);
      const staying = other.capabilities!();
      controller.abort();
      await ignoringAbort(leaving);
      assert.deepEqual(await staying, said);
    },
  },
  {
    name: "takes the SHA-256 of the bytes with them",
    async check({ backend }) {
      for (const size of SIZES) {
        const [name, bytes] = [newName(), blobOf(size)];
        await backend.put(name, bytes, { sha256: hashOf(bytes) });
        await assertHolds(backend, name, bytes);
      }
    },
  },
  {
    name: "attests the SHA-256 of each blob, if it attests any",
    async check({ backend, reopen }) {
      if (!(await attests(backend))) return;
      for (const size of SIZES) {
        const bytes = blobOf(size);
        const name = hashOf(bytes);
        await backend.put(name, bytes, { sha256: name });
        for (const handle of [backend, await reopen()]) {
          assert.ok(await attests(handle), "another handle says otherwise");
          const info = await handle.head(name);
          assert.equal(info?.sha256, name, `${size} bytes`);
          assert.equal(info?.size, size);
        }
      }
    },
  },
  {
    name: "attests the bytes that are there, not those that were, nor the name",
    async check({ backend, reopen }) {
      const name = hashOf(blobOf(1000, 1));
      const required = await attests(backend);
      for (const [seed, known] of [
        [1, true],
        [2, true],
        [3, false],
        [1, false],
        [4, true],
      ] as const) {
        const bytes = blobOf(1000, seed);
        const hash = hashOf(bytes);
        await backend.put(name, bytes, known ? { sha256: hash } : {});
        for (const handle of [backend, await reopen()]) {
          // Not every other handle has found out what it attests.
          await assertAttested(handle, name, hash, required && known && handle === backend);
        }
      }
      await backend.delete(name);
      await assertMissing(backend, name);
    },
  },
  {
    name: "fails or stores the bytes as they are, where their SHA-256 is given wrong",
    async check({ backend }) {
      const [old, given] = [blobOf(1000, 1), blobOf(1000, 2)];
      const wrong = hashOf(blobOf(1000, 3));
      for (const [name, before] of [
        [newName(), undefined],
        [wrong, undefined],
        [newName(), old],
      ] as const) {
        if (before) await backend.put(name, before, { sha256: hashOf(before) });
        const taken = await accepts(backend.put(name, given, { sha256: wrong }));
        const now = taken ? given : before;
        if (now === undefined) {
          await assertMissing(backend, name);
          continue;
        }
        await assertHolds(backend, name, now);
        await assertAttested(backend, name, hashOf(now), false);
      }
    },
  },
  {
    name: "attests nothing of a blob that is not there",
    async check({ backend }) {
      const bytes = blobOf(1000);
      const name = hashOf(bytes);
      await backend.put(name, bytes, { sha256: name });
      await backend.delete(name);
      assert.equal(await backend.head(name), undefined);
      await fails(backend.get(name, new Uint8Array(1000)), "not-found");
    },
  },
  {
    name: "says of a blob how it is encrypted, as it says of all",
    async check({ backend }) {
      const expected = (await backend.capabilities?.())?.encryption;
      if (expected === undefined) return;
      const name = newName();
      await backend.put(name, blobOf(1000));
      assert.equal((await backend.head(name))?.encryption, expected);
    },
  },
];

async function attests(backend: Backend): Promise<boolean> {
  return (await backend.capabilities?.())?.verifiesChecksums === true;
}

/** Whatever is said of the blob, by `head` or in a listing, is its hash. */
async function assertAttested(
  backend: Backend,
  name: string,
  hash: string,
  required: boolean,
): Promise<void> {
  const { sha256 } = (await backend.head(name)) ?? {};
  if (required || sha256 !== undefined) assert.equal(sha256, hash);
  for await (const blob of backend.list(name)) {
    if (blob.sha256 !== undefined) assert.equal(blob.sha256, hash);
  }
}

/** Whether a put was done. If not, it failed with an error of the library, transient or not. */
async function accepts(put: Promise<void>): Promise<boolean> {
  try {
    await put;
    return true;
  } catch (error) {
    assert.ok(error instanceof StorageError, `not a StorageError but ${String(error)}`);
    return false;
  }
}

/** An answer that needs no request may come in spite of the signal. */
async function ignoringAbort(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    assert.ok(error instanceof StorageError && error.code === "aborted", String(error));
  });
}
