import { throwIfAborted } from "../abort.ts";
import { CHILD_BLOB_MAX, CHILD_OVERHEAD, FANOUT } from "../format/limits.ts";
import { type Reference, referenceAt, referenceCount } from "../format/reference.ts";
import { type TreeShape, leavesBelow, plaintextLength } from "../format/shape.ts";
import type { ChildKind } from "../crypto/key-schedule.ts";
import type { OpenedRoot } from "./read-root.ts";
import { StorageError } from "../errors.ts";
import type { StoreContext } from "./context.ts";
import { fetchBlob } from "./fetch.ts";
import { openChild } from "../crypto/open.ts";

/** A node or leaf of a tree. */
export interface Child {
  /** 1 for a leaf. */
  readonly level: number;
  /** Position among all blobs of its level. */
  readonly index: number;
  readonly reference: Reference;
}

/** Leaves `first` to `end`, exclusive. */
export interface LeafRange {
  readonly first: number;
  readonly end: number;
}

/** All leaves of a tree. */
export function allLeaves(shape: TreeShape): LeafRange {
  return { first: 0, end: shape.counts[0] ?? 0 };
}

/**
 * The blobs of a tree in the order of the stream, as far as they lie over the given leaves. Nodes
 * are fetched, verified and opened on the way, and each comes before what lies below it.
 */
export function walk(
  context: StoreContext,
  root: OpenedRoot,
  leaves: LeafRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Child> {
  const { shape } = root;

  async function* below(
    references: Uint8Array,
    level: number,
    first: number,
  ): AsyncGenerator<Child> {
    const span = leavesBelow(level);
    const from = Math.max(first, Math.floor(leaves.first / span));
    const end = Math.min(first + referenceCount(references), Math.ceil(leaves.end / span));
    for (let index = from; index < end; index++) {
      const child = { level, index, reference: referenceAt(references, index - first) };
      if (level === 1) {
        yield child;
        continue;
      }
      const node = await openNode(context, shape, child, signal);
      yield child;
      yield* below(node, level - 1, index * FANOUT);
    }
  }

  return below(root.body, shape.counts.length, 0);
}

/** The leaves alone, in the order of the stream. */
export async function* leavesIn(
  context: StoreContext,
  root: OpenedRoot,
  leaves: LeafRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Child> {
  for await (const child of walk(context, root, leaves, signal)) {
    if (child.level === 1) yield child;
  }
}

async function openNode(
  context: StoreContext,
  shape: TreeShape,
  child: Child,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const length = plaintextLength(shape, child.level, child.index);
  return fetchChild(context, child, length, new Uint8Array(CHILD_OVERHEAD + length), signal);
}

/**
 * Fetches, verifies and opens a node or leaf.
 *
 * @param length the plaintext's length, which the tree's shape determines
 * @param buffer holds the blob meanwhile: 59 bytes longer than the plaintext
 * @param into receives the plaintext; by default it stays in the buffer
 * @returns the plaintext, a view
 * @throws StorageError `not-found`, `limit`, `address`, `format`, `commit`, `auth`, `tree`
 */
export async function fetchChild(
  context: StoreContext,
  child: Child,
  length: number,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal | undefined,
  into?: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const { address, contentKey } = child.reference;
  const kind: ChildKind = child.level === 1 ? "leaf" : "node";
  let blob: Uint8Array<ArrayBuffer>;
  try {
    blob = await fetchBlob(context.backend, address, buffer, signal);
  } catch (error) {
    // Longer than it can be: look at it with all the room a child may take, to name the fault.
    if (!(error instanceof StorageError && error.code === "limit")) throw error;
    const room = new Uint8Array(CHILD_BLOB_MAX);
    blob = await fetchBlob(context.backend, address, room, signal);
  }
  // Whoever reads has given up: the memory it gave is its own again.
  throwIfAborted(signal);
  const plaintext = openChild(context.naCl, kind, contentKey, blob, into);
  if (plaintext.length !== length) throw wrongLength(kind, address);
  return plaintext as Uint8Array<ArrayBuffer>;
}

/** The error of a child that is intact and not what its tree requires. */
export function wrongLength(kind: ChildKind, address: string): StorageError {
  return new StorageError(
    "tree",
    `the ${kind} ${address} does not have the length its tree requires`,
  );
}
