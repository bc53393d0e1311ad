import { type Change, storeRealFolder } from "../support/real-folder.ts";
import { NOW, type OwnRepository, testRepository } from "../support/repositories.ts";
import { type StoredTree, storeSnapshot, testSession } from "../support/repository-writer.ts";
import { type OpenSnapshot, openSnapshot } from "../../src/read/open-snapshot.ts";
import { mkdtempSync, realpathSync } from "node:fs";
import type { Host } from "../../src/files/host.ts";
import type { Snapshot } from "../../src/format/records/snapshot.ts";
import { afterAll } from "bun:test";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { tmpdir } from "node:os";

/** A folder for one test file, which is removed at its end, however deep it is. */
export function temporaryBase(): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "idk-restore-")));
  afterAll(() => {
    execFileSync("chmod", ["-R", "u+rwx", base]);
    execFileSync("rm", ["-rf", base]);
  }, 60_000);
  return base;
}

/** Opens a snapshot of a tree that was stored. */
export async function openStored(
  given: OwnRepository,
  store: (session: ReturnType<typeof testSession>) => Promise<StoredTree>,
  change: Partial<Snapshot> = {},
): Promise<OpenSnapshot> {
  const session = testSession(given.backend, given.recipients);
  const tree = await store(session);
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW, change });
  const repository = await given.open();
  for await (const found of repository.snapshots("home")) {
    const opened = await openSnapshot(repository, found);
    given.take();
    return opened;
  }
  throw new Error("there is a snapshot");
}

/** A snapshot of a real folder, in a repository of its own. */
export async function snapshotOf(
  host: Host,
  path: string,
  change?: Change,
): Promise<{ readonly opened: OpenSnapshot; readonly given: OwnRepository }> {
  const given = await testRepository();
  const folder = host.openRoot(Buffer.from(path));
  try {
    const opened = await openStored(given, (session) =>
      storeRealFolder(host, session, folder, change),
    );
    return { opened, given };
  } finally {
    host.close(folder);
  }
}

/** What `find` prints of everything below a folder, one text for each entry. */
export function printed(path: string, format = ALL): string[] {
  const output = execFileSync("find", [path, "-mindepth", "1", "-printf", `${format}\\0`], {
    maxBuffer: 2 ** 28,
  });
  return output.toString("latin1").split("\0").filter(Boolean).toSorted();
}

/** Path, type, mode, owner, time, size, number of names, target. Sizes of folders differ by history. */
const ALL = "%P|%y|%m|%U|%G|%T@|%n|%l";

/** The differences that `diff` finds in content; none if there are none. */
export function differences(a: string, b: string): string {
  const { stdout, stderr } = Bun.spawnSync(["diff", "-r", "--no-dereference", a, b]);
  return stdout.toString("latin1") + stderr.toString("latin1");
}
