import {
  allowWriter,
  createRepository,
  matchesPattern,
  openRepository,
  ownerKeyOf,
  type PinnedRepository,
  type Repository,
  type WriterKey,
  type Writer,
  volatileHeadMemory,
} from "@idk/snapshots";
import type { Identity } from "@idk/storage";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { usage } from "../../errors/failures.ts";
import { createFolder } from "../../folders.ts";
import { loadIdentities } from "../../keys/identities.ts";
import type { RecipientSource } from "../../keys/recipient-source.ts";
import { loadWriterKey, writeNewWriterKey } from "../../keys/writer-keys.ts";
import type { Session } from "../../session.ts";
import type { OpenBackend } from "../../stores/open-store.ts";
import { hostOf, hostPattern } from "../names.ts";
import {
  closingOnError,
  findPinned,
  missingFolder,
  opened,
  type OpenedRepository,
  openLocation,
  type ReadingSettings,
  requireFolder,
} from "./open-repository.ts";
import { addPins, extendPins, pinnedOf } from "./pins.ts";
import { placesIn } from "./places.ts";
import { readersOf } from "./readers.ts";

export interface WritingSettings extends ReadingSettings {
  readonly recipients: readonly RecipientSource[];
}

/**
 * Opens the repository to write snapshots of a name. Needs no identity if the configuration pins the
 * repository and has this host's writer key. Otherwise the owner's identity is there, and this makes
 * what is missing: the repository, a writer key, the right to write, and the pins. Each step is done
 * only if it is not, so that the next run completes one that was interrupted.
 *
 * @param dryRun makes nothing; if there is no repository, it opens an empty one in memory
 * @throws Failure `usage` if something is missing and there is no identity to make it
 */
export async function openForWriting(
  settings: WritingSettings,
  { name, dryRun }: { readonly name: string; readonly dryRun: boolean },
  session: Session,
): Promise<OpenedRepository> {
  const { pins } = settings.repository;
  const mayWrite =
    pins?.names === undefined || pins.names.value.some((each) => matchesPattern(each, name));
  if (pins?.writer !== undefined && mayWrite) {
    const pinned = pinnedOf(pins);
    requireFolder(settings);
    const writer = await loadWriterKey(pins.writer.value, settings.passphrase, session);
    const backend = await openLocation(settings.store, session);
    return closingOnError(backend, () =>
      opened(settings, { backend, pinned, identities: [], writer }, session),
    );
  }
  return setUp(settings, { name, dryRun }, session);
}

async function setUp(
  settings: WritingSettings,
  { name, dryRun }: { readonly name: string; readonly dryRun: boolean },
  session: Session,
): Promise<OpenedRepository> {
  const { pins, table } = settings.repository;
  if (settings.identity.length === 0) throw withoutIdentity(settings, name);
  const identities = await loadIdentities(settings, session);
  const owner = ownerKeyOf(identities[0]!);
  const to = await readersOf(settings.recipients, identities);
  if (pins !== undefined) requireFolder(settings);
  const isMissing = missingFolder(settings.store) !== undefined;
  if (dryRun && isMissing) return openEmpty({ owner, to, identities }, session);
  const backend = await openLocation(settings.store, session);
  return closingOnError(backend, async () => {
    const found = isMissing ? undefined : await findPinned(settings, identities, backend, session);
    if (found === undefined && dryRun) {
      await backend[Symbol.asyncDispose]();
      return openEmpty({ owner, to, identities }, session);
    }
    const pinned = found ?? (await make(backend, { owner, to }, session));
    if (pinned.owner !== owner.writer) throw notOwner(pinned, owner, name, pins?.writer?.value);
    const asOwner = { backend, pinned, identities, writer: owner };
    // A store that the configuration does not name has no place for pins, so its owner writes.
    if (table === undefined || dryRun) return opened(settings, asOwner, session);

    const path = pins?.writer?.value ?? join(settings.folders.data, "writer.key");
    const key = await hostKey(path, settings.passphrase, session);
    const known = pins?.names?.value;
    const host = hostPattern(hostOf(known));
    const own = matchesPattern(host, name) ? host : name;
    // The first time also what a timer would write that was given no name.
    const patterns = known === undefined ? [...new Set([host, own])] : [own];
    const { repository } = await opened(settings, asOwner, session);
    const isNew = found === undefined;
    await letWrite(repository, { writer: key.writer, patterns, to, isNew }, session);
    const names = [...new Set([...(known ?? []), ...patterns])];
    if (pins === undefined) {
      const { graceSeconds } = (await repository.settings({ signal: session.signal })).head
        .settings;
      await addPins(
        table,
        { pinned: { ...pinned, graceSeconds }, writer: path, names },
        settings.repository.env,
      );
      await session.out.note(
        `idk: added the repository to ${table.config}: later backups need no identity`,
      );
    } else {
      await extendPins(table, pins, { writer: path, names }, settings.repository.env);
    }
    return opened(settings, { backend, pinned, identities: [], writer: key }, session);
  });
}

/** What a dry run compares with if there is no repository. */
async function openEmpty(
  {
    owner,
    to,
    identities,
  }: { owner: WriterKey; to: readonly string[]; identities: readonly Identity[] },
  { signal }: Session,
): Promise<OpenedRepository> {
  const { memory: inMemory } = await import("@idk/storage/memory");
  const backend = inMemory();
  const pinned = await createRepository({ backend, owner, recipients: to, signal });
  const memory = volatileHeadMemory();
  const folder = await mkdtemp(join(tmpdir(), "idk-dry-run-"));
  return {
    repository: await openRepository({ backend, pinned, identities, writer: owner, memory }),
    places: placesIn(folder),
    identities,
    isNew: true,
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }),
  };
}

async function make(
  backend: OpenBackend,
  { owner, to }: { owner: WriterKey; to: readonly string[] },
  { out, signal }: Session,
): Promise<PinnedRepository> {
  const pinned = await createRepository({ backend, owner, recipients: to, signal });
  await out.note(`idk: created a repository of snapshots in ${backend.description}`);
  return pinned;
}

/** The writer key of this host, which is made if it is not there. */
async function hostKey(
  path: string,
  passphrase: string | undefined,
  session: Session,
): Promise<WriterKey> {
  if (!existsSync(path)) {
    await createFolder(dirname(path));
    await writeNewWriterKey(path, undefined);
    await session.out.note(
      `idk: created the writer key of this host, ${path}: it can write snapshots, but not read them`,
    );
  }
  return loadWriterKey(path, passphrase, session);
}

interface Right {
  readonly writer: Writer;
  readonly patterns: readonly string[];
  readonly to: readonly string[];
  /** Whether the repository was made just now, so that nobody may write: saves two requests. */
  readonly isNew: boolean;
}

async function letWrite(
  repository: Repository,
  { writer, patterns, to, isNew }: Right,
  { out, signal }: Session,
): Promise<void> {
  const known = isNew ? [] : (await repository.settings({ signal })).head.settings.rules;
  const missing = patterns.filter(
    (pattern) =>
      !known.some(
        (rule) =>
          rule.writer === writer && rule.pattern === pattern && rule.lastGeneration === null,
      ),
  );
  if (missing.length === 0) return;
  const rules = missing.map((pattern) => ({ writer, pattern, mayForget: false }));
  await allowWriter(repository, to, rules, { signal });
  const named = missing.map((pattern) => JSON.stringify(pattern)).join(" and ");
  await out.note(`idk: allowed this host to write snapshots named ${named}`);
}

function withoutIdentity({ repository: { pins, table } }: WritingSettings, name: string): Error {
  if (pins?.writer !== undefined) {
    return usage(
      `this host may not write snapshots named ${JSON.stringify(name)}, but only ` +
        `${pins.names?.value.map((each) => JSON.stringify(each)).join(", ")}: choose another --name, or have ` +
        "the owner run `idk repo allow`, and add it to `names` in the configuration",
    );
  }
  const where = table === undefined ? "" : ` of store ${table.store} in ${table.config}`;
  return usage(
    pins === undefined
      ? `no repository${where}: add what its owner's \`idk repo allow\` prints to the configuration, or ` +
          "name your identity with -i to make one"
      : `no writer key in the repository${where}: make one with \`idk keygen --writer -o FILE\`, have the ` +
          "owner run `idk repo allow`, and add `writer` to the table",
  );
}

function notOwner(
  { owner }: PinnedRepository,
  { writer }: WriterKey,
  name: string,
  file: string | undefined,
): Error {
  const what =
    file === undefined
      ? "this host has no writer key"
      : `the writer key ${file} may not write snapshots named ${JSON.stringify(name)}`;
  return usage(
    `${what}, and your first identity is not that of the owner (${owner}, yours gives ${writer}): ` +
      "have the owner run `idk repo allow`",
  );
}
