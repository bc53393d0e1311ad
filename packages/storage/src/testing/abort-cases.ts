import assert from "node:assert/strict";
import {
  assertFailure,
  assertHolds,
  assertMissing,
  assertSame,
  blobOf,
  type Case,
  collect,
  fails,
  MIB,
  newName,
  read,
} from "./cases.ts";

const OLD = 4 * MIB;
const NEW = 8 * MIB;

/** Milliseconds from the start of a call to its abort; undefined aborts synchronously. */
const DELAYS = [undefined, 0, 0, 1, 2, 3, 5, 8, 13];

/** Cases for the signal of a call. */
export const abortCases: readonly Case[] = [
  {
    name: "stores nothing if the signal has fired before put",
    async check({ backend }) {
      const [fresh, old] = [newName(), newName()];
      await backend.put(old, blobOf(100, 1));
      await fails(backend.put(fresh, blobOf(100, 2), fired()), "aborted");
      await fails(backend.put(old, blobOf(100, 2), fired()), "aborted");
      await assertMissing(backend, fresh);
      await assertHolds(backend, old, blobOf(100, 1));
      assert.deepEqual(await collect(backend.list("")), [{ name: old, size: 100 }]);
    },
  },
  {
    name: "reads nothing if the signal has fired before get",
    async check({ backend }) {
      const [name, buffer] = [newName(), new Uint8Array(100)];
      await backend.put(name, blobOf(100));
      await fails(backend.get(name, buffer, fired()), "aborted");
      assertSame(buffer, new Uint8Array(100));
    },
  },
  {
    name: "fails with aborted rather than not-found",
    async check({ backend }) {
      await fails(backend.get(newName(), new Uint8Array(1), fired()), "aborted");
    },
  },
  {
    name: "does nothing if the signal has fired before head",
    async check({ backend }) {
      await fails(backend.head(newName(), fired()), "aborted");
    },
  },
  {
    name: "deletes nothing if the signal has fired before delete",
    async check({ backend }) {
      const name = newName();
      await backend.put(name, blobOf(100));
      await fails(backend.delete(name, fired()), "aborted");
      await assertHolds(backend, name, blobOf(100));
    },
  },
  {
    name: "lists nothing if the signal has fired before list",
    async check({ backend }) {
      await backend.put(newName(), blobOf(100));
      await fails(collect(backend.list("", fired())), "aborted");
    },
  },
  {
    name: "keeps the reason of an abort as the cause",
    async check({ backend }) {
      const reason = new Error("no longer needed");
      await assert.rejects(backend.head(newName(), { signal: AbortSignal.abort(reason) }), {
        cause: reason,
      });
    },
  },
  {
    name: "keeps the old blob or the whole new one if a put is aborted",
    async check({ backend }) {
      const name = newName();
      const [before, after] = [blobOf(OLD, 1), blobOf(NEW, 2)];
      for (const delay of DELAYS) {
        await backend.put(name, before);
        const stored = await endsOrAborts((options) => backend.put(name, after, options), delay);
        const found = await read(backend, name, NEW);
        assertSame(found, stored || found.length === NEW ? after : before);
      }
    },
  },
  {
    name: "keeps nothing or the whole blob if its first put is aborted",
    async check({ backend }) {
      const bytes = blobOf(NEW);
      for (const delay of DELAYS) {
        const name = newName();
        const stored = await endsOrAborts((options) => backend.put(name, bytes, options), delay);
        // Read only once: a server may still complete a put that it has received in full.
        const found = await read(backend, name, NEW).catch((error: unknown) => {
          assertFailure(error, "not-found");
          return undefined;
        });
        assert.ok(found !== undefined || !stored, "a put succeeded without storing the blob");
        if (found !== undefined) assertSame(found, bytes);
      }
    },
  },
  {
    name: "reads the whole blob or fails if a get is aborted",
    async check({ backend }) {
      const [name, bytes] = [newName(), blobOf(NEW)];
      await backend.put(name, bytes);
      for (const delay of DELAYS) {
        const buffer = new Uint8Array(NEW);
        const got = await endsOrAborts((options) => backend.get(name, buffer, options), delay);
        if (got) assertSame(buffer, bytes);
      }
      await assertHolds(backend, name, bytes);
    },
  },
  {
    name: "does not write to the buffer after an aborted get has settled",
    async check({ backend }) {
      const [name, bytes] = [newName(), blobOf(NEW)];
      await backend.put(name, bytes);
      const sentinel = new Uint8Array(NEW).fill(0x5e);
      const buffers: Uint8Array[] = [];
      for (const delay of DELAYS) {
        const buffer = new Uint8Array(NEW);
        await endsOrAborts((options) => backend.get(name, buffer, options), delay);
        // The buffer belongs to the caller again.
        buffer.set(sentinel);
        buffers.push(buffer);
      }
      await settle();
      for (const buffer of buffers) assertSame(buffer, sentinel);
    },
  },
  {
    name: "does not read the bytes after an aborted put has settled",
    async check({ backend }) {
      const after = blobOf(NEW, 2);
      const names: string[] = [];
      for (const delay of DELAYS) {
        const [name, borrowed] = [newName(), after.slice()];
        await endsOrAborts((options) => backend.put(name, borrowed, options), delay);
        borrowed.fill(0x5e);
        names.push(name);
      }
      await settle();
      for (const name of names) {
        if ((await backend.head(name)) !== undefined) await assertHolds(backend, name, after);
      }
    },
  },
  {
    name: "ends a listing that is aborted midway",
    async check({ backend }) {
      for (let i = 0; i < 5; i++) await backend.put(newName("ab"), blobOf(1));
      const controller = new AbortController();
      const listing = (async () => {
        for await (const _ of backend.list("", controller)) controller.abort();
      })();
      await fails(listing, "aborted");
    },
  },
  {
    name: "ignores a signal that fires after the call",
    async check({ backend }) {
      const [name, bytes, controller] = [newName(), blobOf(1000), new AbortController()];
      await backend.put(name, bytes, controller);
      controller.abort();
      await assertHolds(backend, name, bytes);
    },
  },
];

/** Gives a backend time to continue work that it should have ended. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 100));
}

function fired(): { signal: AbortSignal } {
  return { signal: AbortSignal.abort() };
}

/** Whether the call succeeded despite the abort. It must fail with `aborted` otherwise. */
async function endsOrAborts(
  call: (options: { signal: AbortSignal }) => Promise<unknown>,
  delay: number | undefined,
): Promise<boolean> {
  const controller = new AbortController();
  const pending = call(controller);
  const timer = delay === undefined ? undefined : setTimeout(() => controller.abort(), delay);
  if (delay === undefined) controller.abort();
  try {
    await pending;
    return true;
  } catch (error) {
    assertFailure(error, "aborted");
    return false;
  } finally {
    clearTimeout(timer);
  }
}
