import {
  type Backend,
  type Marker as ListedName,
  type NaClChoice,
  StorageError,
  loadNaCl,
} from "@idk/storage";
import { GRACE_MIN, PREVIOUS_MAX, UUID_LENGTH } from "../format/limits.ts";
import {
  type FoundSettings,
  type HeadOptions,
  type PinnedRepository,
  type Repository,
} from "./repository.ts";
import type { Rule, Settings } from "../format/records/settings.ts";
import { type Lineage, lineageOf, tipsOf } from "../rules/forks.ts";
import {
  type Marker,
  compareMarkers,
  formatMarker,
  nextGeneration,
  parseMarker,
} from "../format/names/marker.ts";
import {
  type ListedMarker,
  listMarkers,
  newestMarkers,
  readHead,
  readInOrder,
} from "./find-heads.ts";
import type { MarkerBackend } from "./marker-backend.ts";
import { rememberedOf } from "./head-memory.ts";
import type { RepositoryHead } from "../format/records/head.ts";
import type { RepositoryId } from "../format/names/identifiers.ts";
import { SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import { allow, grantsSame, revoke } from "../rules/granting.ts";
import { areSame, isSettingsHead, joinSettings } from "../rules/joining.ts";
import type { Writer, WriterKey } from "../format/keys/writer.ts";
import { type HeadPlace, putHead } from "./put-head.ts";
import { requireMarkers } from "./marker-backend.ts";
import { toHex } from "@idk/storage/blobs";

/** The grace period unless the owner says otherwise: 7 days, in seconds. */
export const GRACE_DEFAULT: number = 7 * 24 * 60 * 60;

/** Options of `createRepository`. */
export interface CreateOptions {
  readonly backend: Backend;
  readonly owner: WriterKey;
  /** Who can read the settings: all readers, and the owner's own identity. */
  readonly recipients: readonly string[];
  /** In seconds, at least 3,600; by default 7 days. It may only grow later. */
  readonly graceSeconds?: number | undefined;
  readonly rules?: readonly Rule[] | undefined;
  readonly naCl?: NaClChoice | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes a repository: a new uuid, and the owner's settings.
 *
 * @returns what everybody's configuration has to pin
 * @throws StorageError `usage` if the location has markers already, or if someone else makes a repository
 *   there at the same time and was not later; then nothing of this one is left
 */
export async function createRepository(options: CreateOptions): Promise<PinnedRepository> {
  const { owner, recipients, rules = [], graceSeconds = GRACE_DEFAULT, signal } = options;
  const backend = requireMarkers(options.backend);
  checkGrace(graceSeconds);
  const naCl = await loadNaCl(options.naCl ?? "auto");
  // First, because a listing refuses a folder that does not exist.
  const now = await backend.currentTime({ create: true, ...(signal && { signal }) });
  for await (const { name } of backend.listMarkers("", { limit: 1, ...(signal && { signal }) })) {
    throw new StorageError(
      "usage",
      parseMarker(name) === undefined
        ? noMarker(backend, name)
        : `${backend.description} has a repository already: open it, or choose another location`,
    );
  }
  const repository = toHex(crypto.getRandomValues(new Uint8Array(UUID_LENGTH))) as RepositoryId;
  const place = { generation: now, previous: [] };
  const head = settingsHead(repository, owner.writer, { graceSeconds, rules }, place, now);
  const { marker } = await putHead({ backend, naCl }, owner, head, recipients, { signal });
  await requireFirst(backend, marker, signal);
  return { repository, owner: owner.writer, graceSeconds };
}

/**
 * The message for a name that no writer chooses. Readers skip it, but a short listing may show nothing else,
 * so that a repository behind it would not be noticed.
 */
function noMarker({ description }: MarkerBackend, name: string): string {
  return (
    `cannot make a repository in ${description}: heads/${name} is not a valid marker; delete it, or choose ` +
    "another location"
  );
}

/** Takes a new repository back unless all other names at the location are later: their makers see this one. */
async function requireFirst(
  backend: MarkerBackend,
  marker: Marker,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = signal ? { signal } : {};
  const name = formatMarker(marker);
  const listed: ListedName[] = [];
  // Limits what made-up markers cost.
  for await (const one of backend.listMarkers("", { limit: PREVIOUS_MAX, ...options })) {
    listed.push(one);
  }
  const isOwn = (one: ListedName) => one.name === name;
  const own = listed.find(isOwn)?.storedAt ?? Infinity;
  if (listed.every((one) => isOwn(one) || one.storedAt > own)) return;
  const isUndone = await backend
    .deleteMarker(name, options)
    .then(() => backend.delete(marker.address, options))
    .then(
      () => true,
      () => false,
    );
  const madeUp = listed.find((one) => parseMarker(one.name) === undefined);
  const why =
    madeUp === undefined
      ? `someone else is making a repository in ${backend.description} at the same time: try again, and ` +
        "open the one that is there then"
      : noMarker(backend, madeUp.name);
  const left = isUndone ? "" : `; first delete heads/${name}, which this could not`;
  throw new StorageError("usage", why + left);
}

function settingsHead(
  repository: RepositoryId,
  writer: Writer,
  settings: Settings,
  place: HeadPlace,
  now: number,
): RepositoryHead {
  return {
    kind: "repo",
    repository,
    chain: chainOf(repository, SETTINGS_CHAIN),
    name: SETTINGS_CHAIN,
    ...place,
    time: now,
    writer,
    expectedSeconds: null,
    message: null,
    tags: [],
    settings,
  };
}

/** Options of `changeSettings`. */
export interface ChangeOptions extends HeadOptions {
  /**
   * Goes on until a head of its own is in force, which is sealed to these recipients. Nothing names the
   * readers of settings, so what another owner joins is sealed to the readers that it knows.
   */
  readonly forReaders?: boolean | undefined;
}

/** Heads that are written for a change, where others change the settings at the same time. */
const ATTEMPTS = 8;

/**
 * Changes the settings: reads them all, and signs new ones. If some are apart from each other, because
 * others have changed them at the same time, it also signs what they give together, before and after the
 * change, until nothing that anyone has changed is missing.
 *
 * @param change from the settings now, and the store's time in milliseconds, to the new ones; is called once
 * @returns the newest settings of when all changes were joined. They lack a right that was given here if another
 *   owner has revoked the same key at the same time
 * @throws StorageError `usage` if this machine does not hold the owner's key, or the grace period would
 *   shrink; `unavailable` if others do not stop changing the settings: then what was changed is stored, and
 *   the next change joins it; or if this takes longer than half the grace period
 */
export async function changeSettings(
  repository: Repository,
  recipients: readonly string[],
  change: (settings: Settings, now: number) => Settings,
  options: ChangeOptions = {},
): Promise<FoundSettings> {
  const { writer, pinned, backend, memory } = repository;
  const { signal, forReaders = false } = options;
  if (writer?.writer !== pinned.owner) {
    throw new StorageError("usage", "only the owner of a repository can change its settings");
  }
  // First, because it compares them with what this machine remembers.
  const inForce = await repository.settings({ ...options, refresh: true });
  const chain = settingsChain(repository, inForce, options);
  const half = (inForce.head.settings.graceSeconds * 1000) / 2;
  let own: FoundSettings | undefined;
  let isMade = false;
  // Later, a prune may have deleted what a head is made of, once others have joined that.
  let deadline = Infinity;
  let now = await backend.currentTime(signal ? { signal } : {});
  for (let attempt = 0; ; attempt++) {
    const lineage = await chain.read(now);
    // The request itself may have waited, for the machine may have been asleep.
    if (lineage.heads.some((found) => chain.isOwn(found) && found.storedAt > deadline)) {
      throw tooLate();
    }
    const tips = tipsOf(lineage, chain.isOwn);
    const before = tips.slice(0, PREVIOUS_MAX);
    const joined = joinSettings(lineage, before);
    const [newest] = tips;
    const isJoined = tips.every(({ head }) => areSame(head.settings, joined));
    const isSealed = !forReaders || newest?.payloadHash === own?.payloadHash;
    if (own !== undefined && newest !== undefined && isMade && isJoined && isSealed) {
      // A store that hides the change from now on is noticed.
      await memory.remember(new Map([[own.marker.chain, rememberedOf(own)]]));
      await repository.settings({ ...options, refresh: true });
      return newest;
    }
    if (attempt === ATTEMPTS) {
      throw new StorageError(
        "unavailable",
        `others keep changing the settings of the repository at ${backend.description}: ` +
          (isMade
            ? "the change is stored, but may not be in force; look at the settings, and change them again"
            : "nothing was changed; try again later"),
      );
    }
    // A join has no change of its own, so that all owners who join the same heads write the same settings.
    const isChange: boolean = !isMade && tips.length === 1;
    const settings = isChange ? changed(joined, change, now) : joined;
    const generations = before.map(({ marker }) => marker.generation);
    const place = {
      // A join that comes late must not put changes out of force that know of the same heads.
      generation: nextGeneration(generations, isChange ? now : 0),
      previous: before.map(({ marker }) => marker.address),
    };
    const head = settingsHead(pinned.repository, writer.writer, settings, place, now);
    deadline = now + half;
    const stored = await putHead(repository, writer, head, recipients, {
      signal,
      beforeMarker: async () => {
        now = await backend.currentTime(signal ? { signal } : {});
        if (now > deadline) throw tooLate();
      },
    });
    own = { ...stored, head, storedAt: now };
    chain.addOwn(own);
    isMade ||= isChange;
  }
}

function tooLate(): StorageError {
  return new StorageError(
    "unavailable",
    "a change of the settings took longer than half the grace period: it may not be in force, and what other " +
      "owners changed meanwhile may not be either, such as a revocation. Look at the settings, and change them again",
  );
}

/** What a change makes of settings. */
function changed(
  settings: Settings,
  change: (settings: Settings, now: number) => Settings,
  now: number,
): Settings {
  const to = change(settings, now);
  checkGrace(to.graceSeconds);
  if (to.graceSeconds >= settings.graceSeconds) return to;
  throw new StorageError("usage", "the grace period of a repository cannot be shortened");
}

/** All settings that count. Each head is read once, and stays known if it is not listed any more. */
function settingsChain(repository: Repository, inForce: FoundSettings, options: HeadOptions) {
  const { backend, pinned } = repository;
  const { signal, onRefused } = options;
  const { chain } = inForce.marker;
  /** By the names of markers; undefined if the head does not count. */
  const known = new Map<string, FoundSettings | undefined>();
  const own = new Set<string>();
  const add = (found: FoundSettings) => known.set(formatMarker(found.marker), found);
  add(inForce);

  const readOne = async (
    listed: ListedMarker,
    now: number,
  ): Promise<readonly [string, FoundSettings?]> => {
    const name = formatMarker(listed.marker);
    const before = known.get(name);
    if (before !== undefined) return [name, { ...before, storedAt: listed.storedAt }];
    // Anyone who can put can make up very many.
    if (known.has(name)) return [name];
    const found = await readHead(repository, pinned, listed, now, { signal });
    if (!("error" in found)) return isSettingsHead(found) ? [name, found] : [name];
    onRefused?.(found);
    return [name];
  };
  return {
    /** @param now the store's time, in milliseconds */
    async read(now: number): Promise<Lineage<FoundSettings>> {
      const markers = newestMarkers(backend, chain, now, signal);
      const read = async (listed: ListedMarker) => readOne(listed, now);
      for await (const [name, found] of readInOrder(read, markers)) known.set(name, found);
      const heads = [...known.values()].filter((found) => found !== undefined);
      const newestFirst = heads.toSorted((a, b) => compareMarkers(a.marker, b.marker));
      return lineageOf(newestFirst);
    },
    addOwn(found: FoundSettings) {
      add(found);
      own.add(found.payloadHash);
    },
    isOwn: ({ payloadHash }: FoundSettings) => own.has(payloadHash),
  };
}

/**
 * Lets a writer write to the chains that patterns match, as `allow` changes the settings.
 *
 * @throws StorageError as `changeSettings`; `unavailable` if another owner has revoked it at the same time
 */
export async function allowWriter(
  repository: Repository,
  recipients: readonly string[],
  given: readonly Omit<Rule, "lastGeneration">[],
  options: HeadOptions = {},
): Promise<FoundSettings> {
  const change = (settings: Settings) => given.reduce((now, rule) => allow(now, rule), settings);
  const found = await changeSettings(repository, recipients, change, options);
  const { rules } = found.head.settings;
  for (const rule of given) {
    if (rules.some((other) => grantsSame(other, rule) && other.lastGeneration === null)) continue;
    throw new StorageError(
      "unavailable",
      `another owner has revoked ${rule.writer} at the same time, and it stays revoked: look at the settings, ` +
        "and allow it again if it is to write",
    );
  }
  return found;
}

/**
 * Ends a writer's rights now. What it wrote until then stays, also where its heads are ahead of the store's
 * time, as those are that others have pushed ahead with markers that they made up: the rights then end
 * behind the newest of these.
 *
 * @throws StorageError as `changeSettings`; `unavailable` if another owner has allowed it again at the same
 *   time, after its rights had ended before
 */
export async function revokeWriter(
  repository: Repository,
  recipients: readonly string[],
  writer: Writer,
  options: HeadOptions = {},
): Promise<FoundSettings> {
  const { signal } = options;
  const now = await repository.clock.now(signal);
  let last = now;
  async function* ahead() {
    for await (const listed of listMarkers(repository.backend, "", signal ? { signal } : {})) {
      if (listed.marker.generation > last) yield listed;
    }
  }
  // A head that cannot be read now may be its newest.
  const readable = { ...options, reportUnreadable: false };
  // Another owner may have allowed it since the repository was found: those heads count, too.
  await repository.settings({ ...readable, refresh: true });
  const read = async (listed: ListedMarker) => repository.read(listed, readable);
  for await (const found of readInOrder(read, ahead())) {
    if (found?.head.writer === writer) last = Math.max(last, found.head.generation);
  }
  const change = (settings: Settings, time: number) =>
    revoke(settings, writer, Math.max(time, last));
  const found = await changeSettings(repository, recipients, change, options);
  const { rules } = found.head.settings;
  if (rules.every((rule) => rule.writer !== writer || rule.lastGeneration !== null)) return found;
  throw new StorageError(
    "unavailable",
    `another owner has allowed ${writer} to write again at the same time: look at the settings, and revoke ` +
      "it again",
  );
}

function checkGrace(seconds: number): void {
  if (Number.isSafeInteger(seconds) && seconds >= GRACE_MIN) return;
  throw new StorageError("usage", `the grace period must be at least ${GRACE_MIN} seconds`);
}
