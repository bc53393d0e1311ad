import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "../../src/backend/backend.ts";
import { StorageError } from "../../src/errors.ts";
import { testFaults } from "./conformance-faults.ts";

testFaults([
  {
    fault: "has no description",
    noticedBy: ["describes itself"],
    spoil: () => ({ description: "" }),
  },
  {
    fault: "keeps the lent bytes instead of a copy",
    noticedBy: ["keeps its own copy once a put has settled"],
    spoil: keepsLentBytes,
  },
  {
    fault: "gives its own bytes away to be wiped",
    noticedBy: ["leaves the bytes it is given as they are"],
    spoil: (right) => ({
      async put(name, bytes, options) {
        await right.put(name, bytes, options);
        bytes.fill(0);
      },
    }),
  },
  {
    fault: "stores all the memory behind a part",
    noticedBy: ["stores only the part of memory"],
    spoil: (right) => ({
      put: (name, bytes, options) => right.put(name, new Uint8Array(bytes.buffer), options),
    }),
  },
  {
    fault: "overwrites in place and keeps the tail",
    noticedBy: ["replaces a blob with a longer and with a shorter one", "win entirely"],
    spoil: (right) => ({
      async put(name, bytes, options) {
        const old = new Uint8Array((await right.head(name))?.size ?? 0);
        if (old.length > 0) await right.get(name, old);
        const mixed = new Uint8Array(Math.max(old.length, bytes.length));
        mixed.set(old);
        mixed.set(bytes);
        await right.put(name, mixed, options);
      },
    }),
  },
  {
    fault: "goes on storing the bytes of an aborted put",
    noticedBy: ["does not read the bytes of a put"],
    spoil: (right) => ({
      async put(name, bytes, options) {
        if (options?.signal) {
          await sleep(1);
          if (options.signal.aborted) {
            setTimeout(() => void right.put(name, bytes), 20);
            throw new StorageError("aborted", "aborted");
          }
        }
        await right.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "keeps what is there already",
    noticedBy: ["replaces a blob"],
    spoil: (right) => ({
      async put(name, bytes, options) {
        if ((await right.head(name, options)) === undefined) await right.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "mixes what several write at once",
    noticedBy: ["win entirely"],
    spoil: usesOneTemporaryFile,
  },
  {
    fault: "writes in two steps",
    noticedBy: [
      "shows readers whole blobs only",
      "shows readers whole blobs or none",
      "lists only whole blobs",
    ],
    spoil: (right) => ({
      async put(name, bytes, options) {
        await right.put(name, bytes.subarray(0, bytes.length / 2), options);
        await sleep(1);
        await right.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "leaves half a blob when aborted",
    noticedBy: ["old blob or the whole new one", "nothing or the whole blob"],
    spoil: (right) => ({
      async put(name, bytes, { signal } = {}) {
        if (signal === undefined || signal.aborted) return right.put(name, bytes, { signal });
        await right.put(name, bytes.subarray(0, bytes.length / 2));
        await sleep(1);
        await right.put(name, bytes, { signal });
      },
    }),
  },
  {
    fault: "takes nothing longer than 16 MiB",
    noticedBy: ["gives back a blob of 16777275 bytes"],
    spoil: (right) => ({
      put: (name, bytes, options) => right.put(name, bytes.subarray(0, 2 ** 24), options),
    }),
  },
  {
    fault: "mixes up names that begin alike",
    noticedBy: ["keeps blobs apart", "nearly its name"],
    spoil: (right) => ({
      put: (name, bytes, options) => right.put(`${name.slice(0, 63)}0`, bytes, options),
      get: (name, buffer, options) => right.get(`${name.slice(0, 63)}0`, buffer, options),
    }),
  },
  {
    fault: "forgets when opened again",
    noticedBy: ["keeps what was put when opened again"],
    spoil: () => ({}),
    forgets: true,
  },
  {
    fault: "fails to delete what is not there",
    noticedBy: ["deletes what is not there"],
    spoil: (right) => ({
      async delete(name, options) {
        if (!(await right.head(name))) throw new StorageError("not-found", "no such blob");
        await right.delete(name, options);
      },
    }),
  },
  {
    fault: "deletes nothing",
    noticedBy: ["deletes a blob, and only", "lists a deleted blob no more"],
    spoil: () => ({ delete: async () => undefined }),
  },
  {
    fault: "keeps what a blob was before",
    noticedBy: ["deletes a blob that was replaced"],
    spoil: showsOlderVersions,
  },
]);

function keepsLentBytes(): Partial<Backend> {
  const blobs = new Map<string, Uint8Array>();
  return {
    async put(name, bytes) {
      blobs.set(name, bytes);
    },
    async get(name, buffer) {
      const bytes = blobs.get(name) ?? new Uint8Array();
      buffer.set(bytes);
      return bytes.length;
    },
  };
}

/** The writers of a name share the place where it is prepared. */
function usesOneTemporaryFile(right: Backend): Partial<Backend> {
  const temporaries = new Map<string, Uint8Array>();
  return {
    async put(name, bytes, options) {
      const half = Math.floor(bytes.length / 2);
      const temporary = temporaries.get(name) ?? new Uint8Array(2 ** 25);
      temporaries.set(name, temporary);
      temporary.set(bytes.subarray(0, half));
      await sleep(((bytes[0] ?? 0) * 5) % 7);
      temporary.set(bytes.subarray(half), half);
      await right.put(name, temporary.subarray(0, bytes.length), options);
    },
  };
}

/** A delete uncovers the value before, as it does where only the newest version is removed. */
function showsOlderVersions(right: Backend): Partial<Backend> {
  const versions = new Map<string, Uint8Array[]>();
  return {
    async put(name, bytes, options) {
      await right.put(name, bytes, options);
      versions.set(name, [...(versions.get(name) ?? []), bytes.slice()]);
    },
    async delete(name, options) {
      await right.delete(name, options);
      versions.get(name)?.pop();
      const before = versions.get(name)?.at(-1);
      if (before) await right.put(name, before, options);
    },
  };
}
