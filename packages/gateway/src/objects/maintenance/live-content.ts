import type { Address } from "@idk/storage";
import { inParallel } from "@idk/storage/blobs";
import type { ContentRoot, Garbage } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import { decodeManifest } from "../identity/manifest.ts";
import { type AddressSet, createAddressSet } from "./address-set.ts";
import { type Inspector, isMissing } from "./inspect-root.ts";
import { LineageError } from "../lineage/run.ts";
import { type Before, findSnapshots } from "./lineage.ts";

/** The addresses of the content that a row names: roots, and the nodes and leaves below them. */
export interface LiveContent extends Pick<AddressSet, "has"> {
  /** Adds a root that a row names, unless it is an identity root, or is there. */
  addIfContent(address: Address): Promise<void>;
  /** Adds what the object of a root consists of, though no row names it, as far as it is there. */
  addObject(root: Address, contents: readonly ContentRoot[]): Promise<void>;
}

/** Trees walked at once. The store decides how many of their roots are fetched at once. */
const TREES_AT_ONCE = 64;
/** Garbage read at once. */
const GARBAGE_PAGE = 1000;
const DAY = 24 * 60 * 60_000;
/** The manifest of an object with so many roots may have chunks of its own. */
const LONG_MANIFEST = 1000;

/**
 * Opens all content roots. Takes a request for each that is not inline, and 16 to 32 bytes of memory for
 * each blob.
 *
 * @throws if one cannot be opened, because nobody knows then which chunks belong to it; LineageError if one
 *   that a row names is missing
 */
export async function findLiveContent(
  { catalog, contents, roots, now }: ObjectsContext,
  inspector: Inspector,
  snapshot: Before["snapshot"],
  signal: AbortSignal | undefined,
): Promise<LiveContent> {
  const live = createAddressSet();
  const identities = createAddressSet();
  const addTree = async (address: Address): Promise<void> => {
    if (!live.add(address)) return;
    for await (const blob of contents.treeAddresses(address, { signal })) live.add(blob);
  };
  /** What was replaced meanwhile may be gone. What is still named must be there. */
  const orGone = async (address: Address, adding: Promise<void>): Promise<void> => {
    try {
      await adding;
    } catch (error) {
      if (!isMissing(error)) throw error;
      if ((await catalog.findNamed([address])).size === 0) return;
      throw new LineageError(
        `content of an object is missing below the root ${address}: its other chunks would be deleted. Restore it, or delete the object; \`idk gateway check\` names it`,
      );
    }
  };
  const addIfThere = (address: Address): Promise<void> => orGone(address, addTree(address));
  const addLongManifest = async (address: Address): Promise<void> => {
    for await (const blob of roots.treeAddresses(address, { signal })) live.add(blob);
  };

  async function* contentRoots(): AsyncGenerator<Address> {
    for await (const row of catalog.exportRows()) {
      if (row.type === "object") {
        identities.add(row.object.root);
        if (row.contents.length + row.parts.length > LONG_MANIFEST) {
          await orGone(row.object.root, addLongManifest(row.object.root));
        }
      }
      if (row.type === "object" || row.type === "part") {
        for (const { address } of row.contents) yield address;
      }
    }
  }
  await inParallel(contentRoots(), TREES_AT_ONCE, addIfThere);

  async function* garbage(): AsyncGenerator<Garbage> {
    const until = now() + DAY;
    for (let after: Garbage | undefined; ;) {
      const page = await catalog.dueGarbage(until, GARBAGE_PAGE, after);
      after = page.at(-1);
      if (after === undefined) return;
      yield* page;
    }
  }
  // For an hour, it is still read.
  await inParallel(garbage(), TREES_AT_ONCE, async (garbage) => {
    if (garbage.kind === "identity") identities.add(garbage.address);
    else await addIfThere(garbage.address);
  });

  const root = await roots.get(snapshot.name, { signal });
  live.add(root.address);
  for (const { address } of decodeManifest(await root.bytes()).contents) await addTree(address);
  for await (const { address, manifest } of findSnapshots(inspector, signal)) {
    live.add(address);
    for (const content of manifest.contents) await addIfThere(content.address);
  }

  return {
    has: (address) => live.has(address),
    async addIfContent(address) {
      if (!live.has(address) && !identities.has(address)) await addIfThere(address);
    },
    async addObject(root, manifest) {
      await orGone(root, addLongManifest(root));
      for (const { address } of manifest) await addIfThere(address);
    },
  };
}
