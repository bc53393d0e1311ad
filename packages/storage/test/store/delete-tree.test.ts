import { CHILD_OVERHEAD, FANOUT, REFERENCE_LENGTH } from "../../src/format/limits.ts";
import { alice, aliceStore, bob, encodedRoot, nacl, outcome, random, sha256 } from "../support.ts";
import {
  type Address,
  type Backend,
  type DeleteTreeOptions,
  type SkippedBlob,
  loadNaCl,
  publicKeyOf,
  wrapBackend,
} from "../../src/index.ts";
import { describe, expect, test } from "bun:test";
import { bytesOf } from "./watched.ts";
import { forgeTree, unopenable } from "./forged-tree.ts";
import { memory } from "../../src/backend/memory.ts";
import { randomKey } from "../../src/crypto/key-schedule.ts";
import { sealChild, sealRoot } from "../../src/crypto/seal.ts";
import { writeReference } from "../../src/format/tree.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;
const naCl = await loadNaCl(nacl);

interface ForgedReference {
  readonly address: string;
  readonly contentKey: Uint8Array;
}

function referencesTo(children: readonly ForgedReference[]): Uint8Array {
  const bytes = new Uint8Array(children.length * REFERENCE_LENGTH);
  for (const [index, child] of children.entries()) writeReference(bytes, index, child);
  return bytes;
}

/** What a sender makes with the victim's public key alone: a root with any references. */
async function forgedRoot(
  backend: Backend,
  children: readonly ForgedReference[],
  { depth, leaves } = { depth: 1, leaves: children.length },
): Promise<string> {
  const plaintext = encodedRoot(
    {
      depth,
      chunkLog2: 18,
      contentLength: leaves * CHUNK,
      padding: 0,
      metadata: new Map(),
      body: referencesTo(children),
    },
    false,
  );
  const keys = { contentKey: randomKey(), ephemeralSecret: randomKey() };
  const blob = sealRoot(naCl, keys, [publicKeyOf(alice.recipient)], plaintext);
  await backend.put(sha256(blob), blob);
  return sha256(blob);
}

async function forgedChild(
  backend: Backend,
  kind: "leaf" | "node",
  plaintext: Uint8Array,
): Promise<ForgedReference> {
  const contentKey = randomKey();
  const blob = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
  sealChild(naCl, kind, contentKey, plaintext, blob);
  await backend.put(sha256(blob), blob);
  return { address: sha256(blob), contentKey };
}

async function names(backend: Backend): Promise<string[]> {
  return (await Array.fromAsync(backend.list(""), ({ name }) => name)).toSorted();
}

/** Counts the calls, and the bytes of the ranged reads. */
function counted(inner: Backend) {
  const calls = { get: 0, range: 0, rangeBytes: 0, delete: 0 };
  const backend = wrapBackend(inner, {
    get:
      (get) =>
      async (...given) => {
        calls.get += 1;
        return get(...given);
      },
    getRange:
      (getRange) =>
      async (...given) => {
        calls.range += 1;
        const length = await getRange(...given);
        calls.rangeBytes += length;
        return length;
      },
    delete:
      (remove) =>
      async (...given) => {
        calls.delete += 1;
        await remove(...given);
      },
  });
  return { backend, calls };
}

describe("deleting a forged tree", () => {
  test("deletes no blob whose key the root does not have, and reports each", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const victims = [
      await store.put(random(3 * MiB)),
      await store.put("inline"),
      await store.put(random(2 * MiB), { recipients: [bob.recipient] }),
    ];
    const garbage = sha256(random(9));
    await backend.put(garbage, random(9));
    const before = await names(backend);
    const forged = await forgedRoot(
      backend,
      before.map((address) => ({ address, contentKey: randomKey() })),
    );
    const skipped: SkippedBlob[] = [];

    const report = await store.deleteTree(forged, { onSkipped: (blob) => skipped.push(blob) });

    expect(await names(backend)).toEqual(before);
    expect(report).toEqual({ blobs: 1, skipped: before.length });
    expect(skipped.map(({ address }) => String(address)).toSorted()).toEqual(before);
    const reasons = new Map(skipped.map(({ address, reason }) => [String(address), reason]));
    for (const root of victims) expect(reasons.get(root)).toBe("not-a-chunk");
    expect(reasons.get(garbage)).toBe("not-a-chunk");
    expect(skipped.filter(({ reason }) => reason === "other-key")).toHaveLength(
      before.length - victims.length - 1,
    );
    for (const root of victims.slice(0, 2)) {
      expect(await outcome(store.verify(root, { deep: true }))).toBe("ok");
    }
  });

  test("deletes no root, even with the content key of that root", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const contentKey = randomKey();
    const plaintext = encodedRoot(
      {
        depth: 0,
        chunkLog2: 0,
        contentLength: 1,
        padding: 0,
        metadata: new Map(),
        body: new Uint8Array(1),
      },
      false,
    );
    const keys = { contentKey, ephemeralSecret: randomKey() };
    const blob = sealRoot(naCl, keys, [publicKeyOf(alice.recipient)], plaintext);
    const own = sha256(blob);
    await backend.put(own, blob);
    const others = Array.from({ length: 4 }, () => ({ address: own, contentKey }));
    others.push({ address: "0".repeat(64), contentKey });
    const forged = await forgedRoot(backend, others);
    expect(await store.deleteTree(forged)).toEqual({ blobs: 2, skipped: 1 });
    expect(await names(backend)).toEqual([own]);
  });

  test("does the same on a backend without ranged reads", async () => {
    const { getRange: _, ...backend } = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    await store.put(random(5 * MiB), { chunkSize: MiB });
    await store.put("inline");
    const before = await names(backend);
    const own = await store.put(random(3 * MiB));
    const forged = await forgedRoot(
      backend,
      Array.from({ length: 8 }, (_, index) => ({
        address: before[index % before.length]!,
        contentKey: randomKey(),
      })),
    );
    expect(await store.deleteTree(forged)).toEqual({ blobs: 1, skipped: before.length });
    await store.deleteTree(own);
    expect(await names(backend)).toEqual(before);
  });

  test("visits a node that is referenced many times once, and counts its children once", async () => {
    const inner = memory();
    const leaf = await forgedChild(inner, "leaf", new Uint8Array(CHUNK));
    const repeat = (child: ForgedReference) =>
      referencesTo(Array.from({ length: FANOUT }, () => child));
    const node = await forgedChild(inner, "node", repeat(leaf));
    const top = await forgedChild(inner, "node", repeat(node));
    // 2^34 references to one leaf, in four blobs: a walk through all of them would take days.
    const forged = await forgedRoot(
      inner,
      Array.from({ length: 1024 }, () => top),
      { depth: 3, leaves: 1024 * FANOUT ** 2 },
    );
    const { backend, calls } = counted(inner);
    const plans: unknown[] = [];
    const confirm = (plan: unknown) => plans.push(plan) > 0;
    const report = await aliceStore({ backend }).deleteTree(forged, { confirm });
    expect(plans).toEqual([{ blobs: 4, nodes: [expect.any(String), expect.any(String)] }]);
    expect(report).toEqual({ blobs: 4, skipped: 0 });
    expect(await names(inner)).toEqual([]);
    // The root, each of the two nodes once to count and once to delete, and one ranged read.
    expect(calls).toEqual({ get: 1 + 2 * 2, range: 1, rangeBytes: CHILD_OVERHEAD, delete: 4 });
  }, 20_000);
});

describe("deleting a tree", () => {
  test("takes one short ranged read for each distinct chunk", async () => {
    const { backend, calls } = counted(memory());
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    const address = await store.put(random(2 * MiB + 1));
    expect(await store.deleteTree(address)).toEqual({ blobs: 10, skipped: 0 });
    expect(calls).toEqual({ get: 1, range: 9, rangeBytes: 9 * CHILD_OVERHEAD, delete: 10 });
  });

  test("is confirmed once, with the number of distinct blobs, before anything is deleted", async () => {
    const { backend, calls } = counted(memory());
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    const address = await store.put(random(2 * MiB));
    const before = await names(backend);
    const seen: unknown[] = [];
    for (const answer of [false, Promise.resolve(false)]) {
      const confirm = (plan: { readonly blobs: number }) => {
        seen.push(plan);
        return answer;
      };
      expect(await outcome(store.deleteTree(address, { confirm }))).toBe("usage");
    }
    expect(seen).toEqual([
      { blobs: 9, nodes: [] },
      { blobs: 9, nodes: [] },
    ]);
    const reason = new Error("no terminal to ask on");
    const confirm = () => Promise.reject(reason);
    expect(await outcome(store.deleteTree(address, { confirm }))).toBe(reason);
    expect(calls.delete).toBe(0);
    expect(await names(backend)).toEqual(before);
    await store.deleteTree(address, { confirm: async () => true });
    expect(await names(backend)).toEqual([]);
  });

  test("counts chunks that are already gone as deleted, and sends no request to delete them", async () => {
    const { backend, calls } = counted(memory());
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    const address = await store.put(random(2 * MiB));
    const chunk = (await names(backend)).find((name) => name !== address)!;
    await backend.delete(chunk);
    calls.delete = 0;
    expect(await store.deleteTree(address)).toEqual({ blobs: 9, skipped: 0 });
    expect(calls.delete).toBe(8);
    expect(await names(backend)).toEqual([]);
  });

  test("keeps a chunk whose stored bytes are no longer those of the tree", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    const address = await store.put(random(2 * MiB));
    const [chunk, other] = (await names(backend)).filter((name) => name !== address);
    await backend.put(chunk!, await bytesOf(backend, other!));
    expect(await store.deleteTree(address)).toEqual({ blobs: 8, skipped: 1 });
    expect(await names(backend)).toEqual([chunk!]);
  });

  test("keeps nodes for other trees that share them", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const leaves = Array.from({ length: FANOUT + 1 }, (_, at) =>
      unopenable(`${at}`.padStart(64, "0")),
    );
    const first = await forgeTree(backend, alice.recipient, leaves);
    const second = await store.rewrap(first, [alice.recipient]);
    const keptNodes = new Set<Address>();
    const planned: Address[][] = [];
    const options: DeleteTreeOptions = {
      keptNodes,
      confirm({ nodes }) {
        planned.push(nodes.toSorted());
        return true;
      },
    };
    const report = { blobs: 1 + leaves.length, skipped: 0 };
    for (const root of [first, second]) {
      expect(await store.deleteTree(root, options)).toEqual(report);
    }
    expect(keptNodes.size).toBe(2);
    expect(planned).toEqual([[...keptNodes].toSorted(), [...keptNodes].toSorted()]);
    expect(await names(backend)).toEqual([...keptNodes].toSorted());
  });
});
