import assert from "node:assert/strict";
import type { Backend } from "../backend/backend.ts";
import { StorageError } from "../errors.ts";
import {
  assertFailure,
  assertHolds,
  assertMissing,
  assertSame,
  blobOf,
  type Case,
  collect,
  KIB,
  newName,
  read,
} from "./cases.ts";

const WRITERS = 8;
const ROUNDS = 20;

const SHORTEST_VALUE = 200 * KIB;
const STEP = 1000;

/**
 * Values that differ in every byte and in length, so that a mixture of two is detected. New ones for
 * each use, because a faulty backend may change the bytes that it borrows.
 */
function valueOf(writer: number): Uint8Array {
  return new Uint8Array(SHORTEST_VALUE + STEP * writer).fill(writer + 1);
}

function newValues(): Uint8Array[] {
  return Array.from({ length: WRITERS }, (_, writer) => valueOf(writer));
}

/** Cases with concurrent callers. */
export const raceCases: readonly Case[] = [
  {
    name: "stores many blobs concurrently",
    async check({ backend }) {
      const names = newValues().map(() => newName());
      await Promise.all(names.map((name, i) => backend.put(name, valueOf(i))));
      await Promise.all(names.map((name, i) => assertHolds(backend, name, valueOf(i))));
    },
  },
  {
    name: "stores the same blob from concurrent writers",
    async check({ backend, reopen }) {
      const [name, bytes, other] = [newName(), blobOf(300 * KIB), await reopen()];
      const handles = [backend, other, backend, other, backend, other];
      await Promise.all(handles.map((handle) => handle.put(name, bytes)));
      await assertHolds(backend, name, bytes);
      assert.deepEqual(await collect(backend.list("")), [{ name, size: bytes.length }]);
    },
  },
  {
    name: "lets one of several concurrent writers win entirely",
    async check({ backend, reopen }) {
      const [name, other] = [newName(), await reopen()];
      for (let round = 0; round < ROUNDS; round++) {
        // From short to long values in one round, from long to short in the next.
        const values = round % 2 === 0 ? newValues() : newValues().toReversed();
        await Promise.all(
          values.map((value, i) => (i % 2 === 0 ? backend : other).put(name, value)),
        );
        const winner = await readWhole(backend, name);
        assertSame(await readWhole(other, name), winner);
        assert.equal((await backend.head(name))?.size, winner.length);
      }
    },
  },
  {
    name: "returns only whole blobs while writers replace them",
    async check({ backend, reopen }) {
      const [name, reader] = [newName(), await reopen()];
      await backend.put(name, valueOf(0));
      await whileBusy(writeAll(backend, name), async () => {
        await readWhole(reader, name);
        writerOf((await reader.head(name))?.size);
      });
    },
  },
  {
    name: "returns whole blobs or none while blobs are stored and deleted",
    async check({ backend, reopen }) {
      const [name, reader] = [newName(), await reopen()];
      await whileBusy(writeAndDeleteAll(backend, name), async () => {
        try {
          await readWhole(reader, name);
        } catch (error) {
          if (!(error instanceof StorageError)) throw error;
          assertFailure(error, "not-found");
        }
      });
      await assertMissing(reader, name);
    },
  },
  {
    name: "lists only whole blobs while they are written",
    async check({ backend, reopen }) {
      const reader = await reopen();
      const name = newName();
      await whileBusy(writeAll(backend, name), async () => {
        for (const listed of await collect(reader.list(""))) {
          assert.equal(listed.name, name);
          writerOf(listed.size);
        }
      });
    },
  },
];

async function writeAll(backend: Backend, name: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    for (const value of newValues()) await backend.put(name, value);
  }
}

async function writeAndDeleteAll(backend: Backend, name: string): Promise<void> {
  for (const value of newValues()) {
    await backend.put(name, value);
    await backend.delete(name);
  }
}

/** Repeats the check until the work is done. Settles after both have ended. */
async function whileBusy(work: Promise<void>, check: () => Promise<void>): Promise<void> {
  let busy = true;
  const working = work.finally(() => {
    busy = false;
  });
  const checking = (async () => {
    while (busy) {
      await check();
      // Lets the writer run even if the backend never leaves the microtask queue.
      await new Promise((resume) => setTimeout(resume, 0));
    }
  })();
  for (const ended of await Promise.allSettled([checking, working])) {
    if (ended.status === "rejected") throw ended.reason;
  }
}

/** Reads one of the values and checks that it is not a mixture. */
async function readWhole(backend: Backend, name: string): Promise<Uint8Array> {
  const bytes = await read(backend, name, SHORTEST_VALUE + STEP * WRITERS);
  assertSame(bytes, valueOf(writerOf(bytes.length)));
  return bytes;
}

/** The writer of the value with this length. */
function writerOf(length: number | undefined): number {
  const writer = ((length ?? 0) - SHORTEST_VALUE) / STEP;
  assert.ok(
    Number.isInteger(writer) && writer >= 0 && writer < WRITERS,
    `a reader saw ${length} bytes, which no writer wrote`,
  );
  return writer;
}
