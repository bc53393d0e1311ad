import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, Capabilities } from "../../../src/backend/backend.ts";
import { StorageError } from "../../../src/errors.ts";
import { sha256 } from "../../support.ts";
import { attesting, CAPABILITIES } from "../attesting.ts";
import { testFaults } from "./faults.ts";

testFaults([
  {
    fault: "returns the name as the SHA-256",
    detectedBy: ["or from the name", "if their SHA-256 is wrong"],
    correct: attesting,
    override: (correct) => ({
      async head(name, options) {
        const info = await correct.head(name, options);
        return info && { ...info, sha256: name };
      },
    }),
  },
  {
    fault: "returns the SHA-256 that the writer claimed",
    detectedBy: ["if their SHA-256 is wrong"],
    correct: attesting,
    override: (correct) => remembersClaims(correct, true),
  },
  {
    fault: "returns the SHA-256 of the replaced blob",
    detectedBy: ["not of earlier ones"],
    correct: attesting,
    override: (correct) => remembersClaims(correct, false),
  },
  {
    fault: "lists the name as the SHA-256",
    detectedBy: ["or from the name", "if their SHA-256 is wrong"],
    override: (correct) => ({
      async *list(prefix, options) {
        for await (const blob of correct.list(prefix, options)) {
          yield { ...blob, sha256: blob.name };
        }
      },
    }),
  },
  {
    fault: "claims to verify checksums, but returns none",
    detectedBy: ["returns the SHA-256 of each blob", "returns the SHA-256 of the current bytes"],
    override: () => ({ capabilities: async () => CAPABILITIES }),
  },
  {
    fault: "returns the SHA-256 in upper case",
    detectedBy: ["returns the SHA-256 of each blob"],
    correct: attesting,
    override: (correct) => ({
      async head(name, options) {
        const info = await correct.head(name, options);
        return info && { ...info, sha256: info.sha256?.toUpperCase() };
      },
    }),
  },
  {
    fault: "returns the SHA-256 of a deleted blob",
    detectedBy: ["returns no SHA-256 of a deleted blob"],
    correct: attesting,
    override: (correct) => ({
      head: async (name, options) =>
        (await correct.head(name, options)) ?? { size: 1000, sha256: name },
    }),
  },
  {
    fault: "stores a blob under its wrong SHA-256",
    detectedBy: ["if their SHA-256 is wrong"],
    override: (correct) => ({
      put: (name, bytes, options) => correct.put(options?.sha256 ?? name, bytes, options),
    }),
  },
  {
    fault: "deletes the old blob when it rejects a wrong SHA-256",
    detectedBy: ["if their SHA-256 is wrong"],
    override: (correct) => ({
      async put(name, bytes, options) {
        if (options?.sha256 === undefined || options.sha256 === sha256(bytes)) {
          return correct.put(name, bytes, options);
        }
        await correct.delete(name);
        throw new StorageError("unavailable", "the bytes were damaged", { transient: true });
      },
    }),
  },
  {
    fault: "rejects a SHA-256",
    detectedBy: ["accepts the SHA-256 of the bytes"],
    override: (correct) => ({
      async put(name, bytes, options) {
        if (options?.sha256) throw new StorageError("unavailable", "unsupported header");
        await correct.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "reports different capabilities each time",
    detectedBy: ["the same each time"],
    correct: attesting,
    override: () => {
      let times = 0;
      return { capabilities: async () => ({ ...CAPABILITIES, versions: times++ > 2 }) };
    },
  },
  {
    fault: "leaves its trial blob behind",
    detectedBy: ["leaves nothing behind when"],
    correct: attesting,
    override: (correct) => ({
      async capabilities() {
        await correct.put("0".repeat(64), new Uint8Array(1));
        return CAPABILITIES;
      },
    }),
  },
  {
    fault: "caches the abort of a caller",
    detectedBy: ["after the first caller has aborted"],
    correct: attesting,
    override: () => {
      let found: Promise<Capabilities> | undefined;
      const find = async (signal?: AbortSignal) => {
        if (signal?.aborted) throw new StorageError("aborted", "the operation was aborted");
        return CAPABILITIES;
      };
      return { capabilities: (options) => (found ??= find(options?.signal)) };
    },
  },
  {
    fault: "aborts all callers with the first",
    detectedBy: ["after the first caller has aborted"],
    correct: attesting,
    override: () => {
      let finding: Promise<Capabilities> | undefined;
      const find = async (signal?: AbortSignal) => {
        if (!signal?.aborted) await sleep(1);
        finding = undefined;
        if (signal?.aborted) throw new StorageError("aborted", "the operation was aborted");
        return CAPABILITIES;
      };
      return { capabilities: (options) => (finding ??= find(options?.signal)) };
    },
  },
  {
    fault: "reports its encryption, but not that of a blob",
    detectedBy: ["reports the encryption of a blob"],
    correct: attesting,
    override: (correct) => ({
      async head(name, options) {
        const info = await correct.head(name, options);
        return info && { size: info.size, sha256: info.sha256 };
      },
    }),
  },
]);

/** Returns the SHA-256 that the last put of a name claimed, or the first. */
function remembersClaims(correct: Backend, last: boolean): Partial<Backend> {
  const claims = new Map<string, string>();
  return {
    async put(name, bytes, options) {
      await correct.put(name, bytes, options);
      const claim = options?.sha256 ?? sha256(bytes);
      if (last || !claims.has(name)) claims.set(name, claim);
    },
    async head(name, options) {
      const info = await correct.head(name, options);
      return info && { ...info, sha256: claims.get(name) };
    },
  };
}
