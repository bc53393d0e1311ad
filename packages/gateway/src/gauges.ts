import type { DigestThreads } from "./body/threads.ts";
import type { Catalog } from "./catalog/catalog.ts";
import type { Gauge } from "./http/metrics.ts";
import type { HttpServer } from "./http/server.ts";
import type { Budget } from "./objects/memory/budget.ts";
import type { Objects } from "./objects/objects.ts";

/** What numbers of this moment come from. */
export interface GaugeSources {
  readonly catalog: Catalog;
  readonly objects: Objects;
  readonly server: HttpServer;
  readonly threads: DigestThreads | undefined;
  readonly documents: Budget;
}

/** Numbers of this moment. */
export async function gaugesOf({
  catalog,
  objects,
  server,
  threads,
  documents,
}: GaugeSources): Promise<readonly Gauge[]> {
  const counts = await catalog.counts();
  const memory = objects.metrics();
  return [
    { name: "connections", help: "Open connections.", value: server.connections() },
    { name: "requests_running", help: "Requests in progress.", value: server.running() },
    {
      name: "requests_queued",
      help: "Requests that wait for an earlier one of their connection.",
      value: server.queued(),
    },
    {
      name: "refused_connections_total",
      help: "Connections that were closed because there were too many.",
      value: server.refused(),
    },
    {
      name: "digest_bodies",
      help: "Bodies whose digests are computed in threads.",
      value: threads?.bodies() ?? 0,
    },
    { name: "garbage_blobs", help: "Blobs to be deleted, at most 100000.", value: counts.garbage },
    {
      name: "pending_tombstones",
      help: "Deletions that are not yet in the store.",
      value: counts.tombstones,
    },
    { name: "uploads", help: "Multipart uploads in progress.", value: counts.uploads },
    { name: "writes", help: "Writes in progress.", value: counts.writes },
    { name: "claims", help: "Keys that conditional writes are deciding on.", value: counts.claims },
    {
      name: "catalog_writes_queued",
      help: "Calls that wait to write to the catalog.",
      value: catalog.queued(),
    },
    { name: "buffer_bytes", help: "Memory for content.", value: memory.budgetBytes },
    { name: "buffer_used_bytes", help: "Memory for content in use.", value: memory.budgetUsed },
    {
      name: "buffer_waiting",
      help: "Requests that wait for memory.",
      value: memory.budgetWaiting + documents.waiting(),
    },
    {
      name: "buffer_preemptions_total",
      help: "Memory taken back from clients that stalled.",
      value: memory.preemptions + documents.preemptions(),
    },
  ];
}
