import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "../../../src/errors.ts";
import { testFaults } from "./faults.ts";

testFaults([
  {
    fault: "writes to the buffer after an aborted get",
    detectedBy: ["does not write to the buffer after"],
    override: (correct) => ({
      async get(name, buffer, options) {
        if (options?.signal) {
          await sleep(1);
          if (options.signal.aborted) {
            setTimeout(() => buffer.fill(1), 20);
            throw new StorageError("aborted", "aborted");
          }
        }
        return correct.get(name, buffer, options);
      },
    }),
  },
  {
    fault: "returns a length beyond the blob",
    detectedBy: ["returns a blob of 59 bytes", "fills a buffer of exactly"],
    override: (correct) => ({
      get: async (name, buffer, options) => (await correct.get(name, buffer, options)) + 1,
    }),
  },
  {
    fault: "truncates a blob that is longer than the buffer",
    detectedBy: ["rejects a blob longer than the buffer"],
    override: (correct) => ({
      async get(name, buffer, options) {
        const whole = new Uint8Array((await correct.head(name))?.size ?? 0);
        await correct.get(name, whole, options);
        buffer.set(whole.subarray(0, buffer.length));
        return Math.min(whole.length, buffer.length);
      },
    }),
  },
  {
    fault: "reports bytes as received before they are",
    detectedBy: ["reports as received"],
    override: (correct) => ({
      async get(name, buffer, options) {
        options?.onReceived?.(0);
        options?.onReceived?.(buffer.length - 9);
        return correct.get(name, buffer, options);
      },
    }),
  },
  {
    fault: "starts anew without saying so",
    detectedBy: ["reports as received"],
    override: (correct) => ({
      async get(name, buffer, options) {
        options?.onReceived?.(0);
        const length = await correct.get(name, buffer);
        options?.onReceived?.(length);
        await correct.get(name, buffer);
        options?.onReceived?.(1);
        return length;
      },
    }),
  },
  {
    fault: "rejects a range of a longer blob",
    detectedBy: ["reads a range of a blob"],
    override: (correct) => ({ getRange: async (name, _, ...given) => correct.get(name, ...given) }),
  },
  {
    fault: "ignores the offset of a range",
    detectedBy: ["reads a range of a blob"],
    override: (correct) => ({
      getRange: async (name, _, ...given) => correct.getRange!(name, 0, ...given),
    }),
  },
  {
    fault: "rejects a range beyond the end of a blob",
    detectedBy: ["reads a range of a blob"],
    override: (correct) => ({
      async getRange(name, offset, ...given) {
        const size = (await correct.head(name))?.size ?? 0;
        if (offset > size) throw new StorageError("limit", "no such range");
        return correct.getRange!(name, offset, ...given);
      },
    }),
  },
  {
    fault: "returns the end of a blob as its prefix",
    detectedBy: ["reads a range of a blob"],
    override: (correct) => ({
      async getRange(name, _, buffer, options) {
        const whole = new Uint8Array((await correct.head(name))?.size ?? 0);
        await correct.get(name, whole, options);
        const end = whole.subarray(Math.max(0, whole.length - buffer.length));
        buffer.set(end);
        return end.length;
      },
    }),
  },
  {
    fault: "clears the rest of the buffer",
    detectedBy: ["writes nothing after the blob"],
    override: (correct) => ({
      async get(name, buffer, options) {
        const length = await correct.get(name, buffer, options);
        buffer.fill(0, length);
        return length;
      },
    }),
  },
  {
    fault: "reads a missing blob as an empty one",
    detectedBy: ["fails with not-found for a missing blob", "deletes a blob, and only that one"],
    override: (correct) => ({
      get: async (name, buffer, options) =>
        (await correct.head(name, options)) ? correct.get(name, buffer, options) : 0,
    }),
  },
  {
    fault: "fails in head for a missing blob",
    detectedBy: ["returns undefined from head"],
    override: (correct) => ({
      async head(name, options) {
        const info = await correct.head(name, options);
        if (info === undefined) throw new StorageError("not-found", "no such blob");
        return info;
      },
    }),
  },
  {
    fault: "fails with an error of its own",
    detectedBy: ["fails with not-found for a missing blob", "rejects a blob longer"],
    override: (correct) => ({
      get: (name, buffer, options) =>
        correct.get(name, buffer, options).catch((error: unknown) => {
          throw new Error("ENOENT", { cause: error });
        }),
    }),
  },
  {
    fault: "reports a missing blob as transient",
    detectedBy: ["fails with not-found for a missing blob"],
    override: (correct) => ({
      get: (name, buffer, options) =>
        correct.get(name, buffer, options).catch((error: unknown) => {
          if (!(error instanceof StorageError)) throw error;
          throw new StorageError(error.code, error.message, { transient: true });
        }),
    }),
  },
  {
    fault: "ignores signals",
    detectedBy: [
      "before put",
      "before get",
      "before head",
      "before delete",
      "before list",
      "listing that is aborted midway",
    ],
    override: (correct) => ({
      put: (name, bytes) => correct.put(name, bytes),
      get: (name, buffer) => correct.get(name, buffer),
      head: (name) => correct.head(name),
      delete: (name) => correct.delete(name),
      list: (prefix) => correct.list(prefix),
    }),
  },
]);
