import { createMetrics, measured, openSnapshotBucket } from "@idk/gateway";
import type { OpenSnapshot } from "@idk/snapshots";
import type { Backend } from "@idk/storage";
import { usage } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import { NO_BLOB, READY_MS, serve, type ServeSettings } from "../commands/gateway/serve.ts";
import { startReading } from "../commands/snapshots/open.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { loadAccess } from "./access.ts";

/** Serves the files of a snapshot as a bucket that can only be read. */
export async function serveSnapshot(settings: ServeSettings, session: Session): Promise<void> {
  const { snapshot: name } = settings;
  if (name === undefined) throw usage("name a snapshot with --snapshot");
  const { out, signal } = session;
  const metrics = createMetrics();
  let store: Backend | undefined;
  const observe = (backend: Backend): Backend => {
    store = backend;
    return measured(backend, metrics);
  };
  const options = { ...settings, acceptRollback: false, observe };
  await using reading = await startReading(options, session);
  const opened = await reading.snapshot(name);
  const access = await loadAccess(settings, session);
  const folder = settings.folders.cache;
  await createFolder(folder);
  const { head } = opened.found;
  const bucket = bucketName(head.name);
  const served = await openSnapshotBucket(
    {
      bucket,
      time: head.time,
      region: settings.region,
      memoryBytes: settings.memory,
      files: () => filesOf(opened, signal),
      content: (path, range, stopped) =>
        opened.content(path, { range, signal: stopped }) as AsyncGenerator<Uint8Array<ArrayBuffer>>,
    },
    folder,
  );
  let starting: string | undefined = "The files of the snapshot are being listed. Try again later.";
  const list = async (): Promise<void> => {
    const { files, skipped } = await served.listed;
    starting = undefined;
    await out.note(`idk: the bucket is ${bucket}, with ${count(files, "file")}`);
    if (skipped === 0) return;
    await out.note(
      `idk: note: ${count(skipped, "file")} left out: a key has at most 1024 bytes of UTF-8`,
    );
  };
  try {
    const { catalog, objects } = served;
    const checkStore = async (): Promise<void> => {
      await store?.head(NO_BLOB, { signal: AbortSignal.timeout(READY_MS) });
    };
    const parts = {
      catalog,
      objects,
      metrics,
      checkStore,
      isReadOnly: true,
      starting: () => starting,
      background: list(),
    };
    await serve(settings, parts, access, session);
  } finally {
    await served.close();
  }
}

async function* filesOf(
  opened: OpenSnapshot,
  signal: AbortSignal,
): AsyncGenerator<{ path: Uint8Array; size: number; time: number; sha256: Uint8Array }> {
  for await (const { path, entry } of opened.entries("", { signal, recursive: true })) {
    if (entry.type !== "file") continue;
    const { size, hash: sha256, mtime } = entry;
    yield { path, size, sha256, time: Math.max(0, 1000 * mtime.seconds) };
  }
}

/** A name that a bucket can have, as similar to that of the snapshot as possible. */
function bucketName(name: string): string {
  const similar = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .replaceAll(/^-+|-+$/gu, "")
    .slice(0, 63)
    .replace(/-+$/u, "");
  return similar.length < 3 ? `snapshot-${similar}`.replace(/-$/u, "") : similar;
}
