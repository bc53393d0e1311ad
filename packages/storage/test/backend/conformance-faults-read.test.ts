import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "../../src/errors.ts";
import { testFaults } from "./conformance-faults.ts";

testFaults([
  {
    fault: "goes on writing into the buffer of an aborted get",
    noticedBy: ["does not touch the buffer of a get"],
    spoil: (right) => ({
      async get(name, buffer, options) {
        if (options?.signal) {
          await sleep(1);
          if (options.signal.aborted) {
            setTimeout(() => buffer.fill(1), 20);
            throw new StorageError("aborted", "aborted");
          }
        }
        return right.get(name, buffer, options);
      },
    }),
  },
  {
    fault: "returns a length beyond the blob",
    noticedBy: ["gives back a blob of 59 bytes", "fills a buffer of exactly"],
    spoil: (right) => ({
      get: async (name, buffer, options) => (await right.get(name, buffer, options)) + 1,
    }),
  },
  {
    fault: "cuts off what does not match the buffer",
    noticedBy: ["refuses a blob longer than the buffer"],
    spoil: (right) => ({
      async get(name, buffer, options) {
        const whole = new Uint8Array((await right.head(name))?.size ?? 0);
        await right.get(name, whole, options);
        buffer.set(whole.subarray(0, buffer.length));
        return Math.min(whole.length, buffer.length);
      },
    }),
  },
  {
    fault: "refuses the beginning of a blob that is longer",
    noticedBy: ["gives the beginning of a blob"],
    spoil: (right) => ({ getPrefix: (...given) => right.get(...given) }),
  },
  {
    fault: "gives the end of a blob for its beginning",
    noticedBy: ["gives the beginning of a blob"],
    spoil: (right) => ({
      async getPrefix(name, buffer, options) {
        const whole = new Uint8Array((await right.head(name))?.size ?? 0);
        await right.get(name, whole, options);
        const end = whole.subarray(Math.max(0, whole.length - buffer.length));
        buffer.set(end);
        return end.length;
      },
    }),
  },
  {
    fault: "clears the rest of the buffer",
    noticedBy: ["leaves the rest of a longer buffer"],
    spoil: (right) => ({
      async get(name, buffer, options) {
        const length = await right.get(name, buffer, options);
        buffer.fill(0, length);
        return length;
      },
    }),
  },
  {
    fault: "reads a missing blob as an empty one",
    noticedBy: ["reports a missing blob as not found", "deletes a blob, and only that one"],
    spoil: (right) => ({
      get: async (name, buffer, options) =>
        (await right.head(name, options)) ? right.get(name, buffer, options) : 0,
    }),
  },
  {
    fault: "fails to look at a missing blob",
    noticedBy: ["knows nothing of a missing blob"],
    spoil: (right) => ({
      async head(name, options) {
        const info = await right.head(name, options);
        if (info === undefined) throw new StorageError("not-found", "no such blob");
        return info;
      },
    }),
  },
  {
    fault: "fails with an error of its own",
    noticedBy: ["reports a missing blob as not found", "refuses a blob longer"],
    spoil: (right) => ({
      get: (name, buffer, options) =>
        right.get(name, buffer, options).catch((error: unknown) => {
          throw new Error("ENOENT", { cause: error });
        }),
    }),
  },
  {
    fault: "has a missing blob tried again",
    noticedBy: ["reports a missing blob as not found"],
    spoil: (right) => ({
      get: (name, buffer, options) =>
        right.get(name, buffer, options).catch((error: unknown) => {
          if (!(error instanceof StorageError)) throw error;
          throw new StorageError(error.code, error.message, { transient: true });
        }),
    }),
  },
  {
    fault: "ignores signals",
    noticedBy: [
      "before put",
      "before get",
      "before head",
      "before delete",
      "before list",
      "listing that is aborted on the way",
    ],
    spoil: (right) => ({
      put: (name, bytes) => right.put(name, bytes),
      get: (name, buffer) => right.get(name, buffer),
      head: (name) => right.head(name),
      delete: (name) => right.delete(name),
      list: (prefix) => right.list(prefix),
    }),
  },
]);
