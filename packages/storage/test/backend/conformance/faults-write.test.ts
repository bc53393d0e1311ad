import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "../../../src/backend/backend.ts";
import { StorageError } from "../../../src/errors.ts";
import { testFaults } from "./faults.ts";

testFaults([
  {
    fault: "has no description",
    detectedBy: ["describes itself"],
    override: () => ({ description: "" }),
  },
  {
    fault: "keeps the borrowed bytes instead of a copy",
    detectedBy: ["does not depend on the bytes after put"],
    override: keepsBorrowedBytes,
  },
  {
    fault: "clears the bytes of a put",
    detectedBy: ["does not change the bytes of a put"],
    override: (correct) => ({
      async put(name, bytes, options) {
        await correct.put(name, bytes, options);
        bytes.fill(0);
      },
    }),
  },
  {
    fault: "stores the whole buffer of a part",
    detectedBy: ["stores only the given part of a buffer"],
    override: (correct) => ({
      put: (name, bytes, options) => correct.put(name, new Uint8Array(bytes.buffer), options),
    }),
  },
  {
    fault: "overwrites in place and keeps the tail",
    detectedBy: ["replaces a blob with a longer and with a shorter one", "win entirely"],
    override: (correct) => ({
      async put(name, bytes, options) {
        const old = new Uint8Array((await correct.head(name))?.size ?? 0);
        if (old.length > 0) await correct.get(name, old);
        const mixed = new Uint8Array(Math.max(old.length, bytes.length));
        mixed.set(old);
        mixed.set(bytes);
        await correct.put(name, mixed, options);
      },
    }),
  },
  {
    fault: "stores the bytes of an aborted put later",
    detectedBy: ["does not read the bytes after"],
    override: (correct) => ({
      async put(name, bytes, options) {
        if (options?.signal) {
          await sleep(1);
          if (options.signal.aborted) {
            setTimeout(() => void correct.put(name, bytes), 20);
            throw new StorageError("aborted", "aborted");
          }
        }
        await correct.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "does not replace a blob",
    detectedBy: ["replaces a blob"],
    override: (correct) => ({
      async put(name, bytes, options) {
        if ((await correct.head(name, options)) === undefined)
          await correct.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "mixes concurrent writes",
    detectedBy: ["win entirely"],
    override: usesOneTemporaryFile,
  },
  {
    fault: "writes in two steps",
    detectedBy: [
      "returns only whole blobs",
      "returns whole blobs or none",
      "lists only whole blobs",
    ],
    override: (correct) => ({
      async put(name, bytes, options) {
        await correct.put(name, bytes.subarray(0, bytes.length / 2), options);
        await sleep(1);
        await correct.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "leaves half a blob when aborted",
    detectedBy: ["old blob or the whole new one", "nothing or the whole blob"],
    override: (correct) => ({
      async put(name, bytes, { signal } = {}) {
        if (signal === undefined || signal.aborted) return correct.put(name, bytes, { signal });
        await correct.put(name, bytes.subarray(0, bytes.length / 2));
        await sleep(1);
        await correct.put(name, bytes, { signal });
      },
    }),
  },
  {
    fault: "truncates blobs to 16 MiB",
    detectedBy: ["returns a blob of 16777275 bytes"],
    override: (correct) => ({
      put: (name, bytes, options) => correct.put(name, bytes.subarray(0, 2 ** 24), options),
    }),
  },
  {
    fault: "confuses similar names",
    detectedBy: ["keeps blobs with similar names separate", "with a similar name"],
    override: (correct) => ({
      put: (name, bytes, options) => correct.put(`${name.slice(0, 63)}0`, bytes, options),
      get: (name, buffer, options) => correct.get(`${name.slice(0, 63)}0`, buffer, options),
    }),
  },
  {
    fault: "loses its blobs when reopened",
    detectedBy: ["keeps a blob when reopened"],
    override: () => ({}),
    losesBlobs: true,
  },
  {
    fault: "fails to delete a missing blob",
    detectedBy: ["deletes a missing blob"],
    override: (correct) => ({
      async delete(name, options) {
        if (!(await correct.head(name))) throw new StorageError("not-found", "no such blob");
        await correct.delete(name, options);
      },
    }),
  },
  {
    fault: "deletes nothing",
    detectedBy: ["deletes a blob, and only", "does not list a deleted blob"],
    override: () => ({ delete: async () => undefined }),
  },
  {
    fault: "keeps older versions of a blob",
    detectedBy: ["deletes a replaced blob"],
    override: showsOlderVersions,
  },
]);

function keepsBorrowedBytes(): Partial<Backend> {
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

/** The writers of a name share one temporary buffer. */
function usesOneTemporaryFile(correct: Backend): Partial<Backend> {
  const temporaries = new Map<string, Uint8Array>();
  return {
    async put(name, bytes, options) {
      const half = Math.floor(bytes.length / 2);
      const temporary = temporaries.get(name) ?? new Uint8Array(2 ** 25);
      temporaries.set(name, temporary);
      temporary.set(bytes.subarray(0, half));
      await sleep(((bytes[0] ?? 0) * 5) % 7);
      temporary.set(bytes.subarray(half), half);
      await correct.put(name, temporary.subarray(0, bytes.length), options);
    },
  };
}

/** A delete uncovers the previous value, as if only the latest version was deleted. */
function showsOlderVersions(correct: Backend): Partial<Backend> {
  const versions = new Map<string, Uint8Array[]>();
  return {
    async put(name, bytes, options) {
      await correct.put(name, bytes, options);
      versions.set(name, [...(versions.get(name) ?? []), bytes.slice()]);
    },
    async delete(name, options) {
      await correct.delete(name, options);
      versions.get(name)?.pop();
      const before = versions.get(name)?.at(-1);
      if (before) await correct.put(name, before, options);
    },
  };
}
