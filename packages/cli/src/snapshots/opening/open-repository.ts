import {
  discoverRepository,
  headMemoryFile,
  openRepository,
  ownerKeyOf,
  type PinnedRepository,
  type Repository,
  type WriterKey,
} from "@idk/snapshots";
import type { Backend, Identity } from "@idk/storage";
import { repositoryLocation, type StoreLocation } from "@idk/storage/url";
import { existsSync } from "node:fs";
import {
  folders,
  identitySources,
  optional,
  passphrase,
  path,
  repository,
  type RepositorySource,
  store,
} from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import type { UserFolders } from "../../folders.ts";
import { type IdentitySettings, loadIdentities } from "../../keys/identities.ts";
import { loadWriterKey } from "../../keys/writer-keys.ts";
import type { Session } from "../../session.ts";
import { type OpenBackend, openBackend } from "../../stores/open-store.ts";
import { type RepositoryPlaces, placesOf } from "./places.ts";
import { pinnedOf } from "./pins.ts";

/** The settings of every command that reads snapshots. */
export const READING = {
  store,
  repository,
  folders,
  identity: identitySources,
  passphrase,
} as const;

/** Those of every command that changes what only the owner may. */
export const OWNING = { ...READING, ownerKey: optional(path) } as const;

export interface ReadingSettings extends IdentitySettings {
  readonly store: StoreLocation;
  readonly repository: RepositorySource;
  readonly folders: UserFolders;
  /** Watches the requests to the store. */
  readonly observe?: (backend: Backend) => Backend;
}

export interface OwningSettings extends ReadingSettings {
  readonly ownerKey: string | undefined;
}

/** A repository that is closed at the end of a block. */
export interface OpenedRepository extends AsyncDisposable {
  readonly repository: Repository;
  readonly places: RepositoryPlaces;
  readonly identities: readonly Identity[];
  /** Whether it is an empty one in memory, for a dry run in a store that has none. */
  readonly isNew?: true;
}

/**
 * Opens the repository that the configuration pins, or else that of the first identity.
 *
 * @throws Failure `not-found` if there is none; `usage` if there is no identity
 */
export async function openForReading(
  settings: ReadingSettings,
  session: Session,
): Promise<OpenedRepository> {
  if (settings.identity.length === 0 && settings.repository.pins?.writer !== undefined) {
    throw usage(
      "this host has only a writer key, which cannot read; run this on a machine with an identity, or name its file with -i",
    );
  }
  const identities = await loadIdentities(settings, session);
  requireFolder(settings);
  const backend = await openLocation(settings.store, session);
  return closingOnError(backend, async () => {
    const pinned = await findPinned(settings, identities, backend, session);
    if (pinned === undefined) throw noRepository(backend.description);
    const { observe = (given: Backend) => given } = settings;
    const parts = { backend, observed: observe(backend), pinned, identities, writer: undefined };
    return opened(settings, parts, session);
  });
}

/**
 * The same with the owner's key, which is that of the first identity unless the settings name another.
 *
 * @throws Failure `usage` if this is not the owner's key
 */
export async function openAsOwner(
  settings: OwningSettings,
  session: Session,
): Promise<OpenedRepository> {
  const identities = await loadIdentities(settings, session);
  const owner = await ownerKey(settings, identities, session);
  requireFolder(settings);
  const backend = await openLocation(settings.store, session);
  return closingOnError(backend, async () => {
    const pinned = await findPinned(settings, identities, backend, session);
    if (pinned === undefined) throw noRepository(backend.description);
    if (pinned.owner !== owner.writer) {
      throw usage(
        `the owner of this repository is ${pinned.owner}, and not ${owner.writer}, the key that ` +
          "follows from your first identity: name the owner's identity with -i, or its key with --owner-key",
      );
    }
    return opened(settings, { backend, pinned, identities, writer: owner }, session);
  });
}

/**
 * The same to forget and unforget, which the owner may let other writers do: if this is not the owner, with
 * the writer key of the configuration. Whether it may depends on the settings.
 *
 * @throws Failure `usage` if there is neither key
 */
export async function openToForget(
  settings: OwningSettings,
  session: Session,
): Promise<OpenedRepository> {
  const { pins } = settings.repository;
  if (settings.ownerKey !== undefined || pins?.writer === undefined) {
    return openAsOwner(settings, session);
  }
  const identities = await loadIdentities(settings, session);
  const pinned = pinnedOf(pins);
  const owner = await ownerKey(settings, identities, session);
  const isOwner = owner.writer === pinned.owner;
  const writer = isOwner
    ? owner
    : await loadWriterKey(pins.writer.value, settings.passphrase, session);
  requireFolder(settings);
  const backend = await openLocation(settings.store, session);
  const parts = { backend, pinned, identities, writer };
  return closingOnError(backend, () => opened(settings, parts, session));
}

/** The key with which the owner signs. */
export async function ownerKey(
  { ownerKey: file, passphrase: given }: Pick<OwningSettings, "ownerKey" | "passphrase">,
  [identity]: readonly Identity[],
  session: Session,
): Promise<WriterKey> {
  if (file !== undefined) return loadWriterKey(file, given, session);
  if (identity === undefined) throw usage("no identity: name the owner's with -i FILE");
  return ownerKeyOf(identity);
}

/** Whether one of the identities is the owner's. */
export function ownsRepository({ pinned }: Repository, identities: readonly Identity[]): boolean {
  return identities.some((identity) => ownerKeyOf(identity).writer === pinned.owner);
}

/** The backend of the repository in a store. */
export async function openLocation(
  location: StoreLocation,
  session: Session,
): Promise<OpenBackend> {
  return openBackend(repositoryLocation(location), session);
}

/** What the configuration pins, or what the first identity owns; undefined if there is neither. */
export async function findPinned(
  { repository: { pins } }: Pick<ReadingSettings, "repository">,
  [identity]: readonly Identity[],
  backend: OpenBackend,
  { signal }: Session,
): Promise<PinnedRepository | undefined> {
  if (pins !== undefined) return pinnedOf(pins);
  if (identity === undefined) return undefined;
  return discoverRepository({ backend, identity, signal });
}

/**
 * Fails if the repository is a folder that does not exist: the path may be mistyped, and the disk of a
 * repository that was there may not be mounted.
 */
export function requireFolder({
  store,
  repository: { pins },
}: Pick<ReadingSettings, "store" | "repository">): void {
  const folder = missingFolder(store);
  if (folder === undefined) return;
  if (pins === undefined) throw noRepository(folder);
  throw new Failure(
    "unavailable",
    `the folder ${folder}, the repository in the configuration, does not exist: check that ` +
      "its disk is mounted",
  );
}

/** The folder of the repository, if it is one and does not exist. */
export function missingFolder(store: StoreLocation): string | undefined {
  const location = repositoryLocation(store);
  if (location.kind !== "filesystem" || existsSync(location.folder)) return undefined;
  return location.folder;
}

/** The failure of a store that has none of this owner. */
export function noRepository(where: string): Failure {
  return new Failure(
    "not-found",
    `${where} has no repository of snapshots that your first identity owns: make one ` +
      "with `idk backup` or `idk repo init`, or add what its owner's `idk repo show` prints to the " +
      "configuration",
  );
}

interface Parts {
  readonly backend: OpenBackend;
  /** The same for those who watch its requests. */
  readonly observed?: Backend;
  readonly pinned: PinnedRepository;
  readonly identities: readonly Identity[];
  readonly writer: WriterKey | undefined;
}

/** Opens it with what this machine remembers of it. */
export async function opened(
  { store, folders }: Pick<ReadingSettings, "store" | "folders">,
  { backend, observed = backend, pinned, identities, writer }: Parts,
  { out, signal }: Session,
): Promise<OpenedRepository> {
  const places = placesOf(folders, store, pinned);
  const memory = headMemoryFile(places.heads, {
    signal,
    onWait: () =>
      void out
        .note(`idk: waiting for another idk that is changing ${places.heads}`)
        .catch(() => undefined),
  });
  return {
    repository: await openRepository({ backend: observed, pinned, identities, writer, memory }),
    places,
    identities,
    [Symbol.asyncDispose]: async () => backend[Symbol.asyncDispose](),
  };
}

export async function closingOnError<T>(backend: OpenBackend, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await backend[Symbol.asyncDispose]();
    throw error;
  }
}
