import { rebuildCatalog } from "@idk/gateway";
import { type Command, command } from "../../command.ts";
import { flag } from "../../config/settings.ts";
import { Failure } from "../../errors/failures.ts";
import { describeObjects, objectsFailure, printFault } from "../../gateway/check-summary.ts";
import { loadIdentities } from "../../keys/identities.ts";
import {
  openGatewayBackend,
  openGatewayCatalog,
  openStored,
  STORED,
  withLineage,
} from "../../gateway/open-gateway.ts";
import { loadMacKey } from "../../gateway/mac-key-file.ts";
import { withCatalogVariable } from "../../gateway/variables.ts";
import { count, printable } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import { partOf, SHARDING } from "../../shards/settings.ts";

/** Checks that every object of the catalog is whole. */
export const gatewayCheck: Command = withCatalogVariable(
  command({ ...STORED, deep: flag, ...SHARDING }, async (settings, session) => {
    const { out, signal } = session;
    const { deep } = settings;
    const part = partOf(settings);
    await using stored = await openStored(settings, session);
    if (part !== undefined) {
      const { checkGatewayShard } = await import("../../shards/gateway-check.ts");
      await checkGatewayShard(part, stored, settings, session);
      return;
    }
    const report = await stored.objects.maintenance.check({ deep, signal });
    const { objects, faults, faultCount } = report;
    for (const fault of faults) await printFault(fault, session);
    await out.report({ objects, faults: faultCount, ok: faultCount === 0 });
    await out.flush();
    const failure = objectsFailure(faultCount, objects);
    if (failure !== undefined) throw failure;
    if (!out.json) await out.note(describeObjects(objects, faultCount));
  }),
);

/** Deletes the blobs that nothing needs. */
export const gatewayGc: Command = withCatalogVariable(
  command({ ...STORED, dryRun: flag }, async (settings, session) => {
    const { out, signal } = session;
    const { dryRun } = settings;
    await using stored = await openStored(settings, session);
    const { maintenance } = stored.objects;
    const collected = dryRun
      ? { blobs: (await stored.catalog.counts()).garbage, failed: 0 }
      : await withLineage(maintenance.collect(signal));
    const swept = await maintenance.sweep({ dryRun, signal });
    const garbage = collected === false ? 0 : collected.blobs;
    const { refused, orphans, deleted, forged } = swept;
    await out.report({ garbage, orphans, deleted, forged, refused: refused ?? null });
    await out.flush();
    if (!out.json) {
      const would = dryRun ? "would delete" : "deleted";
      await out.note(
        `${would} ${count(garbage, "blob")} of deleted objects, and ${count(dryRun ? orphans : deleted, "unreferenced blob")}`,
      );
      for (const address of forged) {
        await out.fault(
          `idk: warning: ${address} was not made by a gateway with these keys: left alone`,
        );
      }
    }
    if (collected === false) {
      throw new Failure("unavailable", "another process deletes garbage now: try again later");
    }
    if (collected.failed > 0) {
      throw new Failure("unavailable", `${count(collected.failed, "blob")} could not be deleted`);
    }
    if (refused !== undefined) throw new Failure("rollback", `cannot delete blobs: ${refused}`);
  }),
);

/** Makes a new catalog from the store. */
export const gatewayRebuild: Command = withCatalogVariable(
  command({ ...STORED, all: flag, acceptFaults: flag }, async (settings, session) => {
    const { out, signal } = session;
    const identities = await loadIdentities(settings, session);
    const macKey = await loadMacKey(settings.macKey, session);
    await using backend = await openGatewayBackend(settings.store, session);
    const catalog = await openGatewayCatalog(settings, true);
    try {
      const report = await withLineage(
        rebuildCatalog({
          backend,
          catalog,
          identities,
          macKey: macKey?.key,
          signal,
          useSnapshot: !settings.all,
        }),
      );
      await printFaults(report, session);
      const { buckets, objects, forgedCount, faultCount, isComplete, snapshot } = report;
      await out.report({
        buckets,
        objects,
        forged: forgedCount,
        faults: faultCount,
        complete: isComplete,
        snapshot: snapshot ?? null,
      });
      await out.flush();
      if (!out.json) {
        await out.note(`rebuilt ${count(buckets, "bucket")} with ${count(objects, "object")}`);
        if (snapshot === undefined && objects > 0) {
          await out.fault(
            "idk: warning: no snapshot of the catalog was used: objects that were deleted or overwritten may be back, if the provider kept them",
          );
        }
      }
      if (settings.acceptFaults) {
        if (!isComplete) await catalog.setComplete(true);
        return;
      }
      if (isComplete && forgedCount === 0) return;
      // The catalog can be used, but somebody has written to the store, which the operator must see.
      if (isComplete) {
        throw new Failure(
          "auth",
          `${count(forgedCount, "blob")} in the store were not made by a gateway with these keys: the catalog is complete without them. ` +
            "Find out who can write to the store",
        );
      }
      throw new Failure(
        "tree",
        `${count(faultCount, "blob")} could not be read, and may be objects: nothing will be deleted with this catalog. ` +
          "Repair the store and rebuild, or rebuild with --accept-faults to go without them",
      );
    } finally {
      await catalog.close();
    }
  }),
);

async function printFaults(
  { forged, passedOver, faults }: Awaited<ReturnType<typeof rebuildCatalog>>,
  { out }: Session,
): Promise<void> {
  for (const address of forged) {
    const message = "not made by a gateway with these keys: refused";
    await out.result(`${address}: ${message}`, { address, forged: true, message });
  }
  for (const address of passedOver) {
    const message = "content of it is missing: its key has an older object";
    await out.result(`${address}: ${message}`, { address, forged: false, message });
  }
  for (const { address, message } of faults) {
    await out.result(`${address}: ${printable(message)}`, { address, forged: false, message });
  }
}
