import { expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "../../src/backend/backend.ts";
import { memory } from "../../src/backend/memory.ts";
import { StorageError } from "../../src/errors.ts";
import { backendConformance } from "../../src/testing/index.ts";

/** A wrong backend, and parts of the names of cases that must notice. */
interface Fault {
  readonly fault: string;
  readonly noticedBy: readonly string[];
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
    noticedBy: ["deletes a blob", "lists a deleted blob no more"],
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
    fault: "forgets when opened again",
    noticedBy: ["keeps what was put when opened again"],
    spoil: () => ({}),
    forgets: true,
  },
];

for (const { fault, noticedBy, spoil, forgets = false } of FAULTS) {
  test(`the suite notices a backend that ${fault}`, async () => {
    for (const part of noticedBy) {
      expect(await failedCases(part, spoil, forgets)).not.toBeEmpty();
    }
  });
}

/** Which cases fail, of those whose names have the part. */
async function failedCases(
  part: string,
  spoil: Fault["spoil"],
  forgets: boolean,
): Promise<string[]> {
  const build = (): Backend => {
    const right = memory();
    return { ...right, ...spoil(right) };
  };
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
