/** The packs that a snapshot needs, counted in its repository. */
import {
  discoverRepository,
  openRepository,
  openSnapshot,
  resolveSnapshot,
  volatileHeadMemory,
} from "@idk/snapshots";
import type { Backend, Identity } from "@idk/storage";

/**
 * How many packs the newest snapshot of a name needs: those of the contents of its files, and those of its
 * folders. Found by going through its folders, which fetches no content.
 *
 * @param backend that of the repository
 * @throws Error if a file is so long that its pieces are listed outside its folder
 */
export async function neededPacks(
  backend: Backend,
  identity: Identity,
  name: string,
): Promise<number> {
  const pinned = (await discoverRepository({ backend, identity }))!;
  const memory = volatileHeadMemory();
  const repository = await openRepository({ backend, identities: [identity], pinned, memory });
  const snapshot = await openSnapshot(repository, await resolveSnapshot(repository, name));
  const packs = new Set<string>();
  for await (const { entry, pack } of snapshot.entries(undefined, { recursive: true })) {
    packs.add(pack.row.address);
    if (entry.type !== "file") continue;
    for (const item of entry.content) {
      if (item.kind === "list") throw new Error("the packs of long files are not counted");
      if (item.kind === "piece") packs.add(pack.rowOf(item.row).address);
    }
  }
  return packs.size;
}
