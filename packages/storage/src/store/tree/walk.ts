import { CHILD_OVERHEAD, FANOUT } from "../../format/limits.ts";
import {
  type Reference,
  type TreeShape,
  leavesBelow,
  plaintextLength,
  referenceAt,
  referenceCount,
} from "../../format/tree.ts";
import { type OpenedRoot, readRootInTurn } from "../read/read-root.ts";
import type { StoreContext } from "../context.ts";
import { fetchChild } from "../read/fetch.ts";
import { type Address, parseAddress } from "../../crypto/address.ts";
import type { ReadOptions } from "../options.ts";

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
 * The blobs of a tree in content order: the given leaves, and the nodes above them. Each node is
 * fetched, verified and opened, and comes before the blobs below it.
 *
 * @param visit if it returns false, the child and everything below it are left out
 */
export function walk(
  context: StoreContext,
  root: OpenedRoot,
  leaves: LeafRange,
  signal: AbortSignal | undefined,
  visit: (child: Child) => boolean = () => true,
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
      if (!visit(child)) continue;
      if (level === 1) {
        yield child;
        continue;
      }
      const node = await openNode(context, shape, child, signal);
      yield child;
      yield* below(node, level - 1, index * FANOUT);
    }
  }

  return below(root.body, shape.depth, 0);
}

/** Only the leaves, in content order. */
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
  { level, index, reference }: Child,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const length = plaintextLength(shape, level, index);
  const buffer = new Uint8Array(CHILD_OVERHEAD + length);
  return fetchChild(context, { kind: "node", reference, length, buffer, signal });
}

/** The addresses of a tree's blobs, the root last; see `Store.treeAddresses`. */
export async function* treeAddresses(
  context: StoreContext,
  address: string,
  options: ReadOptions,
): AsyncGenerator<Address> {
  const root = await readRootInTurn(context, address, options);
  for await (const { reference } of walk(context, root, allLeaves(root.shape), options.signal)) {
    yield parseAddress(reference.address);
  }
  yield root.address;
}
