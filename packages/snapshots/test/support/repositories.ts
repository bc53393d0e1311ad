import { type Backend, type Identity, generateIdentity, wrapBackend } from "@idk/storage";
import { type WriterKey, ownerKeyOf } from "../../src/format/keys/writer.ts";
import { createRepository } from "../../src/repository/settings.ts";
import { memory } from "@idk/storage/memory";
import { openRepository } from "../../src/repository/open.ts";
import { type HeadMemory, volatileHeadMemory } from "../../src/repository/head-memory.ts";
import type { PinnedRepository, Repository } from "../../src/repository/repository.ts";
import type { TestRepository } from "./repository-writer.ts";
import type { Rule } from "../../src/format/records/settings.ts";

/** Noon of a day, which the store's clock shows. */
export const NOW: number = Date.UTC(2026, 10, 20, 12);

interface Requests {
  readonly get: number;
  readonly list: number;
  /** The keys that listings ask for. */
  readonly keys: number;
  readonly put: number;
}

/** A backend that counts its requests; `take` returns their numbers and begins again. */
function counting(inner: Backend): { backend: Backend; take: () => Requests } {
  const counts = { get: 0, list: 0, keys: 0, put: 0 };
  const backend = wrapBackend(inner, {
    get:
      (get) =>
      async (...given) => {
        counts.get += 1;
        return get(...given);
      },
    listMarkers: (list) =>
      function listed(prefix, options) {
        counts.list += 1;
        counts.keys += options?.limit ?? Infinity;
        return list(prefix, options);
      },
    put:
      (put) =>
      async (...given) => {
        counts.put += 1;
        return put(...given);
      },
  });
  const take = () => {
    const taken = { ...counts };
    Object.assign(counts, { get: 0, list: 0, keys: 0, put: 0 });
    return taken;
  };
  return { backend, take };
}

/** A repository of one person, in memory. */
export interface OwnRepository extends TestRepository {
  readonly take: () => Requests;
  /** The store's clock, which can be set. */
  readonly clock: { now: number };
  readonly identity: Identity;
  readonly owner: WriterKey;
  readonly pinned: PinnedRepository;
  readonly open: (heads?: HeadMemory, over?: Backend) => Promise<Repository>;
}

export async function testRepository(rules: readonly Rule[] = []): Promise<OwnRepository> {
  const clock = { now: NOW };
  const { backend, take } = counting(memory({ now: () => clock.now }));
  const identity = await generateIdentity();
  const owner = ownerKeyOf(identity);
  const recipients = [identity.recipient];
  clock.now = NOW - 1000;
  const pinned = await createRepository({ backend, owner, recipients, rules });
  clock.now = NOW;
  const open = (heads: HeadMemory = volatileHeadMemory(), over: Backend = backend) =>
    openRepository({
      backend: over,
      identities: [identity],
      writer: owner,
      pinned,
      memory: heads,
    });
  take();
  const { repository } = pinned;
  return { backend, take, clock, identity, owner, recipients, pinned, repository, open };
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
