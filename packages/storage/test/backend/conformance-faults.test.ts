import { expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, Capabilities } from "../../src/backend/backend.ts";
import { memory } from "../../src/backend/memory.ts";
import { StorageError } from "../../src/errors.ts";
import { backendConformance } from "../../src/testing/index.ts";
import { sha256 } from "../support.ts";
import { attesting, CAPABILITIES } from "./attesting.ts";

/** A wrong backend, and parts of the names of cases that must notice. */
interface Fault {
  readonly fault: string;
  readonly noticedBy: readonly string[];
  /** What is spoilt; by default `memory()`, which attests nothing and cannot go on behind a name. */
  readonly right?: () => Backend;
  readonly spoil: (right: Backend) => Partial<Backend>;
  /** Another place at each opening. */
  readonly forgets?: true;
}

const FOREIGN = "notes.txt";

const FAULTS: readonly Fault[] = [
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
    fault: "returns a length beyond the blob",
    noticedBy: ["gives back a blob of 59 bytes", "fills a buffer of exactly"],
    spoil: (right) => ({
      get: async (name, buffer, options) => (await right.get(name, buffer, options)) + 1,
    }),
  },
  {
    fault: "cuts off what does not fit the buffer",
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
    fault: "lists foreign names",
    noticedBy: ["lists nothing where nothing is", "lists all blobs", "lists 300 blobs"],
    spoil: (right) => ({
      async *list(prefix, options) {
        yield { name: FOREIGN, size: 1 };
        yield* right.list(prefix, options);
      },
    }),
  },
  {
    fault: "lists only the first page",
    noticedBy: ["lists 300 blobs", "lists many blobs of one prefix"],
    spoil: (right) => ({
      async *list(prefix, options) {
        let left = 100;
        for await (const blob of right.list(prefix, options)) if (left-- > 0) yield blob;
      },
    }),
  },
  {
    fault: "lists a blob twice",
    noticedBy: ["each once"],
    spoil: (right) => ({
      async *list(prefix, options) {
        for await (const blob of right.list(prefix, options)) yield* [blob, blob];
      },
    }),
  },
  {
    fault: "lists wrong sizes",
    noticedBy: ["lists all blobs with their sizes", "size of what replaced a blob"],
    spoil: (right) => ({
      async *list(prefix, options) {
        for await (const { name } of right.list(prefix, options)) yield { name, size: 0 };
      },
    }),
  },
  {
    fault: "takes only two digits of a prefix",
    noticedBy: ["begin with a prefix", "a prefix that no name has"],
    spoil: (right) => ({ list: (prefix, options) => right.list(prefix.slice(0, 2), options) }),
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
  {
    fault: "keeps what a blob was before",
    noticedBy: ["deletes a blob that was replaced"],
    spoil: showsOlderVersions,
  },
  {
    fault: "lists in no order, but goes on behind a name",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({
      async *list(prefix, options) {
        yield* (await Array.fromAsync(right.list(prefix, options))).toReversed();
      },
    }),
  },
  {
    fault: "goes on with the name itself",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({
      async *listAfter(prefix, after, options) {
        const info = await right.head(after);
        if (info && after.startsWith(prefix)) yield { name: after, size: info.size };
        yield* right.listAfter!(prefix, after, options);
      },
    }),
  },
  {
    fault: "goes on with whatever has no prefix",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({
      listAfter: (_prefix, after, options) => right.listAfter!("", after, options),
    }),
  },
  {
    fault: "goes on from the beginning",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({ listAfter: (prefix, _after, options) => right.list(prefix, options) }),
  },

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
  {
    fault: "forgets when opened again",
    noticedBy: ["keeps what was put when opened again"],
    spoil: () => ({}),
    forgets: true,
  },
];

for (const { fault, noticedBy, right = () => memory(), spoil, forgets = false } of FAULTS) {
  test(`the suite notices a backend that ${fault}`, async () => {
    const build = (): Backend => {
      const inner = right();
      return { ...inner, ...spoil(inner) };
    };
    for (const part of noticedBy) {
      expect(await failedCases(part, build, forgets)).not.toBeEmpty();
    }
  });
}

/** Which cases fail, of those whose names have the part. */
async function failedCases(
  part: string,
  build: () => Backend,
  forgets: boolean,
): Promise<string[]> {
  const open = () => {
    const backend = build();
    return { backend, reopen: () => (forgets ? build() : backend) };
  };
  const failed: string[] = [];
  for (const { name, run } of backendConformance({ open })) {
    if (name.includes(part)) await run().catch(() => failed.push(name));
  }
  return failed;
}

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
