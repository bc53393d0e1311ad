import { headMemoryFile, isProtectedWriterFile, matchesPattern, type Writer } from "@idk/snapshots";
import { stat } from "node:fs/promises";
import { messageOf } from "../errors/failures.ts";
import { readKeyFile } from "../keys/key-files.ts";
import { loadWriterKey } from "../keys/writer-keys.ts";
import type { Session } from "../session.ts";
import { timeText } from "../snapshots/entries.ts";
import {
  openForReading,
  type ReadingSettings,
  requireFolder,
} from "../snapshots/opening/open-repository.ts";
import { pinnedOf } from "../snapshots/opening/pins.ts";
import { placesOf } from "../snapshots/opening/places.ts";
import { resolve } from "../snapshots/resolve.ts";
import { type Check, failed, failedWith, passed, warning } from "./check.ts";

/**
 * Checks the repository of snapshots in a store, and how this machine writes to it.
 *
 * @param canRead whether the identities open without a prompt
 */
export async function* checkRepository(
  settings: ReadingSettings,
  canRead: boolean,
  given: Session,
): AsyncGenerator<Check> {
  // Modes of key files are findings of their own.
  const session = { ...given, out: { ...given.out, note: async () => {} } };
  const { pins, table } = settings.repository;
  const key = pins?.writer && (await checkWriterKey(pins.writer.value, settings, session));
  if (key !== undefined) yield key.check;
  try {
    requireFolder(settings);
    if (canRead) yield* await read(settings, key?.writer, session);
    else if (pins !== undefined) yield await recall(settings);
    else yield passed("repository", "there is one, which no identity was opened for");
    if (pins === undefined && table !== undefined) {
      const remedy = "add what `idk repo show` prints, or run `idk backup`, which does";
      yield warning("repository", `it is not in ${table.config}`, remedy);
    }
  } catch (error) {
    if (session.signal.aborted) throw error;
    yield failedWith("repository", error, "run `idk repo show` and `idk check` for details");
  }
}

/** The newest snapshot, and whether the owner lets this machine write. */
async function read(
  settings: ReadingSettings,
  writer: Writer | undefined,
  session: Session,
): Promise<Check[]> {
  const { signal } = session;
  await using opened = await openForReading(settings, session);
  const { repository } = opened;
  const { rules } = (await repository.settings({ signal })).head.settings;
  const latest = await resolve(repository, "latest", { signal }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "not-found") return undefined;
    throw error;
  });
  const last =
    latest === undefined
      ? "no snapshot yet"
      : `last snapshot ${latest.head.name} of ${timeText(latest.head.time)} UTC`;
  const checks = [passed("repository", `${repository.pinned.repository}; ${last}`)];
  if (writer === undefined) return checks;
  const allowed = rules
    .filter((rule) => rule.writer === writer && rule.lastGeneration === null)
    .map(({ pattern }) => pattern);
  const names = settings.repository.pins?.names?.value ?? [];
  // A name in the configuration is a pattern, too, which one of the settings may be.
  const refused = names.filter((name) => !allowed.some((each) => matchesPattern(each, name)));
  if (allowed.length > 0 && refused.length === 0) return checks;
  const what = allowed.length === 0 ? "any snapshot" : refused.join(", ");
  checks.push(
    warning(
      "writer key",
      `the owner does not let it write ${what}: such backups do not count`,
      "have the owner run `idk repo allow`, or stop the backups",
    ),
  );
  return checks;
}

/** What this machine remembers, without any key. */
async function recall({ repository, folders, store }: ReadingSettings): Promise<Check> {
  const pinned = pinnedOf(repository.pins!);
  const remembered = await headMemoryFile(placesOf(folders, store, pinned).heads).recall();
  const [newest] = [...remembered.values()]
    .filter(({ name }) => name !== "" && name !== ".")
    .toSorted((a, b) => b.marker.generation - a.marker.generation);
  const last =
    newest === undefined
      ? "this machine knows of no snapshot"
      : `the last that this machine knows is ${newest.name} of ${timeText(newest.marker.generation)} UTC`;
  return passed("repository", `${pinned.repository}; ${last}`);
}

async function checkWriterKey(
  path: string,
  { passphrase, repository }: ReadingSettings,
  session: Session,
): Promise<{ readonly check: Check; readonly writer: Writer | undefined }> {
  const names = repository.pins?.names?.value.map((name) => JSON.stringify(name)).join(", ");
  const writes = names === undefined ? "" : `, writes ${names}`;
  try {
    const isProtected = isProtectedWriterFile(await readKeyFile(path, "writer key file"));
    const { mode } = await stat(path);
    if (process.platform !== "win32" && !isProtected && (mode & 0o077) !== 0) {
      const message = `${path}: other users can read it, and write snapshots with it`;
      return { check: warning("writer key", message, `chmod 600 ${path}`), writer: undefined };
    }
    if (isProtected && passphrase === undefined) {
      const message = `${path}: protected by a passphrase, not opened${writes}`;
      return { check: passed("writer key", message), writer: undefined };
    }
    const { writer } = await loadWriterKey(path, passphrase, session);
    return { check: passed("writer key", `${path}: ${writer}${writes}`), writer };
  } catch (error) {
    const remedy =
      "restore it from a backup, or make one with `idk keygen --writer` and have the owner allow it";
    const message = error instanceof Error ? messageOf(error) : String(error);
    return { check: failed("writer key", "usage", message, remedy), writer: undefined };
  }
}
