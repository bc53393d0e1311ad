/** A prune some days later, in a process of its own: to it alone, the store's clock is ahead. */
import { discoverRepository, openRepository, prune, volatileHeadMemory } from "@idk/snapshots";
import { parseIdentity, wrapBackend } from "@idk/storage";
import { type Program, answerJob, jobProgram } from "../src/harness/processes.ts";
import { openBackend } from "../src/object-store/scratch.ts";
import type { ObjectStoreAccess } from "../src/suite.ts";

/** Longer than the grace period. */
const AHEAD = 8 * 24 * 60 * 60 * 1000;

/** @param job the store of the repository, and its owner */
export function laterPrune(job: {
  readonly access: ObjectStoreAccess;
  readonly identity: string;
}): Program {
  return jobProgram(import.meta.path, job);
}

await answerJob(async ({ access, identity: text }: Parameters<typeof laterPrune>[0]) => {
  const identity = parseIdentity(text);
  const backend = wrapBackend(openBackend({ ...access, prefix: `${access.prefix}repo/` }), {
    currentTime: (time) => async (options) => (await time(options)) + AHEAD,
    clockAheadMs: (ahead) => () => (ahead() ?? 0) - AHEAD,
  });
  const pinned = (await discoverRepository({ backend, identity }))!;
  const memory = volatileHeadMemory();
  const { deleted } = await prune(
    await openRepository({ backend, identities: [identity], pinned, memory }),
  );
  if (deleted.blobs === 0 || deleted.markers === 0) throw new Error("nothing was deleted");
  return deleted;
});
