import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, Capabilities } from "../../src/backend/backend.ts";
import { StorageError } from "../../src/errors.ts";
import { sha256 } from "../support.ts";
import { attesting, CAPABILITIES } from "./attesting.ts";
import { testFaults } from "./conformance-faults.ts";

testFaults([
  {
    fault: "attests what the name says",
    noticedBy: ["nor the name", "given wrong"],
    right: attesting,
    spoil: (right) => ({
      async head(name, options) {
        const info = await right.head(name, options);
        return info && { ...info, sha256: name };
      },
    }),
  },
  {
    fault: "attests what the writer says",
    noticedBy: ["given wrong"],
    right: attesting,
    spoil: (right) => remembersClaims(right, true),
  },
  {
    fault: "attests what a blob was before",
    noticedBy: ["not those that were"],
    right: attesting,
    spoil: (right) => remembersClaims(right, false),
  },
  {
    fault: "attests in a listing what the name says",
    noticedBy: ["nor the name", "given wrong"],
    spoil: (right) => ({
      async *list(prefix, options) {
        for await (const blob of right.list(prefix, options)) {
          yield { ...blob, sha256: blob.name };
        }
      },
    }),
  },
  {
    fault: "claims to attest, and does not",
    noticedBy: ["attests the SHA-256 of each blob", "attests the bytes that are there"],
    spoil: () => ({ capabilities: async () => CAPABILITIES }),
  },
  {
    fault: "attests in upper case",
    noticedBy: ["attests the SHA-256 of each blob"],
    right: attesting,
    spoil: (right) => ({
      async head(name, options) {
        const info = await right.head(name, options);
        return info && { ...info, sha256: info.sha256?.toUpperCase() };
      },
    }),
  },
  {
    fault: "attests what was deleted",
    noticedBy: ["attests nothing of a blob that is not there"],
    right: attesting,
    spoil: (right) => ({
      head: async (name, options) =>
        (await right.head(name, options)) ?? { size: 1000, sha256: name },
    }),
  },
  {
    fault: "trusts a wrong SHA-256 and stores under it",
    noticedBy: ["given wrong"],
    spoil: (right) => ({
      put: (name, bytes, options) => right.put(options?.sha256 ?? name, bytes, options),
    }),
  },
  {
    fault: "removes the old blob when it refuses a wrong SHA-256",
    noticedBy: ["given wrong"],
    spoil: (right) => ({
      async put(name, bytes, options) {
        if (options?.sha256 === undefined || options.sha256 === sha256(bytes)) {
          return right.put(name, bytes, options);
        }
        await right.delete(name);
        throw new StorageError("unavailable", "the bytes were damaged", { transient: true });
      },
    }),
  },
  {
    fault: "cannot take a SHA-256",
    noticedBy: ["takes the SHA-256 of the bytes"],
    spoil: (right) => ({
      async put(name, bytes, options) {
        if (options?.sha256) throw new StorageError("unavailable", "unsupported header");
        await right.put(name, bytes, options);
      },
    }),
  },
  {
    fault: "says something else each time",
    noticedBy: ["the same to everyone who asks"],
    right: attesting,
    spoil: () => {
      let times = 0;
      return { capabilities: async () => ({ ...CAPABILITIES, versions: times++ > 2 }) };
    },
  },
  {
    fault: "leaves the blob behind that it tried things with",
    noticedBy: ["leaves nothing behind when"],
    right: attesting,
    spoil: (right) => ({
      async capabilities() {
        await right.put("0".repeat(64), new Uint8Array(1));
        return CAPABILITIES;
      },
    }),
  },
  {
    fault: "remembers that somebody gave up",
    noticedBy: ["can be asked again what it can do"],
    right: attesting,
    spoil: () => {
      let found: Promise<Capabilities> | undefined;
      const find = async (signal?: AbortSignal) => {
        if (signal?.aborted) throw new StorageError("aborted", "the operation was aborted");
        return CAPABILITIES;
      };
      return { capabilities: (options) => (found ??= find(options?.signal)) };
    },
  },
  {
    fault: "lets all who wait give up with the first",
    noticedBy: ["can be asked again what it can do"],
    right: attesting,
    spoil: () => {
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
    fault: "does not say how a blob is encrypted, but how all are",
    noticedBy: ["says of a blob how it is encrypted"],
    right: attesting,
    spoil: (right) => ({
      async head(name, options) {
        const info = await right.head(name, options);
        return info && { size: info.size, sha256: info.sha256 };
      },
    }),
  },
]);

/** Attests what the last put claims, right or wrong, or what the first one of a name did. */
function remembersClaims(right: Backend, last: boolean): Partial<Backend> {
  const claims = new Map<string, string>();
  return {
    async put(name, bytes, options) {
      await right.put(name, bytes, options);
      const claim = options?.sha256 ?? sha256(bytes);
      if (last || !claims.has(name)) claims.set(name, claim);
    },
    async head(name, options) {
      const info = await right.head(name, options);
      return info && { ...info, sha256: claims.get(name) };
    },
  };
}
