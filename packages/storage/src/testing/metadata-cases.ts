import assert from "node:assert/strict";
import type { Backend } from "../backend/backend.ts";
import { StorageError } from "../errors.ts";
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

const SIZES = [0, 1, 100 * KIB, LONGEST];

/**
 * Cases for capabilities, checksums and encryption. A backend need not support any of them, but what
 * it reports must be true, because the store skips uploads that it makes unnecessary.
 */
export const metadataCases: readonly Case[] = [
  {
    name: "reports its capabilities, the same each time and in each backend",
    async check({ backend, reopen }) {
      const first = await backend.capabilities?.();
      if (first === undefined) return;
      for (const key of ["verifiesChecksums", "conditionalPut", "versions"] as const) {
        assert.equal(typeof first[key], "boolean", key);
      }
      assert.ok(["undefined", "string"].includes(typeof first.encryption), "encryption");
      const others = [backend, backend, await reopen()].map(async (other) =>
        other.capabilities?.(),
      );
      for (const other of await Promise.all(others)) assert.deepEqual(other, first);
      await backend.put(newName(), blobOf(100));
      assert.deepEqual(await backend.capabilities?.(), first);
    },
  },
  {
    name: "leaves nothing behind when it determines its capabilities",
    async check({ backend, reopen }) {
      await backend.capabilities?.();
      assert.deepEqual(await collect(backend.list("")), []);
      assert.deepEqual(await collect((await reopen()).list("")), []);
    },
  },
  {
    name: "determines its capabilities after the first caller has aborted",
    async check({ backend, reopen }) {
      if (backend.capabilities === undefined) return;
      await ignoringAbort(backend.capabilities({ signal: AbortSignal.abort() }));
      const expected = await backend.capabilities();
      // Other callers that wait for the same result still get it.
      const other = await reopen();
      const controller = new AbortController();
      const leaving = other.capabilities!(controller);
      const staying = other.capabilities!();
      controller.abort();
      await ignoringAbort(leaving);
      assert.deepEqual(await staying, expected);
    },
  },
  {
    name: "accepts the SHA-256 of the bytes",
    async check({ backend }) {
      for (const size of SIZES) {
        const [name, bytes] = [newName(), blobOf(size)];
        await backend.put(name, bytes, { sha256: hashOf(bytes) });
        await assertHolds(backend, name, bytes);
      }
    },
  },
  {
    name: "returns the SHA-256 of each blob, if it verifies checksums",
    async check({ backend, reopen }) {
      if (!(await verifies(backend))) return;
      for (const size of SIZES) {
        const bytes = blobOf(size);
        const name = hashOf(bytes);
        await backend.put(name, bytes, { sha256: name });
        for (const each of [backend, await reopen()]) {
          assert.ok(await verifies(each), "another backend reports otherwise");
          const info = await each.head(name);
          assert.equal(info?.sha256, name, `${size} bytes`);
          assert.equal(info?.size, size);
        }
      }
    },
  },
  {
    name: "returns the SHA-256 of the current bytes, not of earlier ones or from the name",
    async check({ backend, reopen }) {
      const name = hashOf(blobOf(1000, 1));
      const required = await verifies(backend);
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
        for (const each of [backend, await reopen()]) {
          // Another backend may not have determined yet whether the store verifies checksums.
          await assertSha256(each, name, hash, required && known && each === backend);
        }
      }
      await backend.delete(name);
      await assertMissing(backend, name);
    },
  },
  {
    name: "fails or stores the bytes if their SHA-256 is wrong",
    async check({ backend }) {
      const [old, given] = [blobOf(1000, 1), blobOf(1000, 2)];
      const wrong = hashOf(blobOf(1000, 3));
      for (const [name, before] of [
        [newName(), undefined],
        [wrong, undefined],
        [newName(), old],
      ] as const) {
        if (before) await backend.put(name, before, { sha256: hashOf(before) });
        const stored = await succeeds(backend.put(name, given, { sha256: wrong }));
        const now = stored ? given : before;
        if (now === undefined) {
          await assertMissing(backend, name);
          continue;
        }
        await assertHolds(backend, name, now);
        await assertSha256(backend, name, hashOf(now), false);
      }
    },
  },
  {
    name: "returns no SHA-256 of a deleted blob",
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
    name: "reports the encryption of a blob as in its capabilities",
    async check({ backend }) {
      const expected = (await backend.capabilities?.())?.encryption;
      if (expected === undefined) return;
      const name = newName();
      await backend.put(name, blobOf(1000));
      assert.equal((await backend.head(name))?.encryption, expected);
    },
  },
];

async function verifies(backend: Backend): Promise<boolean> {
  return (await backend.capabilities?.())?.verifiesChecksums === true;
}

/** Asserts that `head` and listings return this hash, or none unless it is required. */
async function assertSha256(
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

/** Whether a put succeeded. If not, it must fail with a StorageError, transient or not. */
async function succeeds(put: Promise<void>): Promise<boolean> {
  try {
    await put;
    return true;
  } catch (error) {
    assert.ok(error instanceof StorageError, `not a StorageError but ${String(error)}`);
    return false;
  }
}

/** The call may also succeed, because a cached result needs no request. */
async function ignoringAbort(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    assert.ok(error instanceof StorageError && error.code === "aborted", String(error));
  });
}
