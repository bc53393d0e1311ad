import { count } from "../output/text.ts";
import type { Session } from "../session.ts";

/**
 * Warns of packs that a prune did not find. The prune does not fail for it: if a snapshot was forgotten after
 * this prune had read the heads, another one may have deleted them.
 */
export async function warnOfMissingPacks(missing: number, { out }: Session): Promise<void> {
  if (missing === 0 || out.json) return;
  const [are, them] = missing === 1 ? ["is", "it"] : ["are", "them"];
  await out.fault(
    `idk: warning: ${count(missing, "pack")} that snapshots need ${are} missing, unless another prune has ` +
      `deleted ${them} meanwhile: run \`idk check\``,
  );
}
