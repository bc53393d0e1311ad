import { type Address, parseAddress } from "../content/address.ts";
import { allLeaves, walk } from "./walk.ts";
import type { ReadOptions } from "./options.ts";
import type { StoreContext } from "./context.ts";
import { readRoot } from "./read-root.ts";

/** The names of a tree's blobs, the root last; see `Store.treeAddresses`. */
export async function* treeAddresses(
  context: StoreContext,
  address: string,
  options: ReadOptions,
): AsyncGenerator<Address> {
  const root = await readRoot(context, address, options);
  for await (const { reference } of walk(context, root, allLeaves(root.shape), options.signal)) {
    yield parseAddress(reference.address);
  }
  yield root.address;
}
