import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Address, StorageError } from "@idk/storage";
import type { Host } from "./host.ts";
import type { Repository } from "../../../src/repository/repository.ts";
import type { World } from "./world.ts";
import { backup } from "../../../src/write/backup.ts";
import { join } from "node:path";

/** A real backup of a host's files, over its cache as it was. */
export async function runBackup(
  world: World,
  host: Host,
  recipients: readonly string[],
  repository: Repository,
  folder: string,
): Promise<void> {
  const files = join(folder, "files");
  const cache = join(folder, "cache.sqlite");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(files, { recursive: true });
  for (const content of host.files) {
    mkdirSync(join(files, `${content % 3}`), { recursive: true });
    writeFileSync(join(files, `${content % 3}/${content}`), `content ${content} `.repeat(content));
  }
  if (host.database !== undefined) writeFileSync(cache, host.database);
  const trusted: Address[] = [];
  const run = (acceptRollback: boolean) =>
    backup(repository, {
      name: host.name,
      paths: [new TextEncoder().encode(files)],
      recipients,
      cache,
      tags: [`${world.random.upTo(3)}`],
      workers: 0,
      now: () => Math.floor(world.now + host.clockAhead),
      acceptRollback,
      onEvent: (event) => {
        if (event.kind === "part") trusted.push(event.marker.address);
      },
    });
  try {
    const { marker } = await run(false).catch((error: unknown) => {
      if (!(error instanceof StorageError) || error.code !== "rollback") throw error;
      // The machine was brought back from a copy.
      return run(true);
    });
    if (marker !== undefined) trusted.push(marker.address);
  } finally {
    if (existsSync(cache)) host.database = readFileSync(cache);
    for (const address of trusted) world.trust(address);
  }
}
