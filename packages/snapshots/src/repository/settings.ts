import { type Address, type Backend, type NaClChoice, StorageError, loadNaCl } from "@idk/storage";
import { GRACE_MIN, PREVIOUS_MAX, UUID_LENGTH } from "../format/limits.ts";
import { type FoundSettings, type HeadOptions, type Repository } from "./repository.ts";
import type { Rule, Settings } from "../format/records/settings.ts";
import { type Marker, compareMarkers, formatMarker } from "../format/names/marker.ts";
import { type ListedMarker, listMarkers, newestMarkers } from "./find-heads.ts";
import type { MarkerBackend } from "./marker-backend.ts";
import type { RepositoryHead } from "../format/records/head.ts";
import type { RepositoryId } from "../format/names/identifiers.ts";
import { SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import type { Writer, WriterKey } from "../format/keys/writer.ts";
import type { PinnedRepository } from "./repository.ts";
import { type HeadPlace, headsBefore, putHead } from "./put-head.ts";
import { randomBytes } from "node:crypto";
import { requireMarkers } from "./marker-backend.ts";

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
  for await (const _ of listMarkers(backend, "", { limit: 1, ...(signal && { signal }) })) {
    throw new StorageError(
      "usage",
      `${backend.description} has a repository already: open it, or choose another location`,
    );
  }
  const repository = randomBytes(UUID_LENGTH).toString("hex") as RepositoryId;
  const place = { generation: now, previous: [] };
  const head = settingsHead(repository, owner.writer, { graceSeconds, rules }, place, now);
  const { marker } = await putHead({ backend, naCl }, owner, head, recipients, { signal });
  await requireFirst(backend, marker, signal);
  return { repository, owner: owner.writer, graceSeconds };
}

/** Takes a new repository back unless all others at the location are later: their makers see this one. */
async function requireFirst(
  backend: MarkerBackend,
  marker: Marker,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = signal ? { signal } : {};
  const listed: ListedMarker[] = [];
  // Who makes many markers up cannot take more than this.
  for await (const one of listMarkers(backend, "", { limit: PREVIOUS_MAX, ...options })) {
    listed.push(one);
  }
  const isOwn = (one: ListedMarker) => one.marker.address === marker.address;
  const own = listed.find(isOwn)?.storedAt ?? Infinity;
  if (listed.every((one) => isOwn(one) || one.storedAt > own)) return;
  const undone = await backend
    .deleteMarker(formatMarker(marker), options)
    .then(() => backend.delete(marker.address, options))
    .then(
      () => "try again, and open the one that is there then",
      () => `delete the marker ${formatMarker(marker)}, which this could not, and try again`,
    );
  throw new StorageError(
    "usage",
    `someone else is making a repository in ${backend.description} at the same time: ${undone}`,
  );
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

/** Times that a change is applied, where others change the settings at the same time. */
const ATTEMPTS = 8;

/**
 * Changes the settings: reads the newest, and signs new ones. If someone else has done so at the same
 * time, and did not know of these, the change is applied once more, to theirs, so that neither is lost.
 *
 * @param change from the settings now, and the store's time in milliseconds, to the new ones
 * @throws StorageError `usage` if this machine does not hold the owner's key, or the grace period would
 *   shrink; `unavailable` if others do not stop changing the settings
 */
export async function changeSettings(
  repository: Repository,
  recipients: readonly string[],
  change: (settings: Settings, now: number) => Settings,
  options: HeadOptions = {},
): Promise<FoundSettings> {
  const { writer, pinned, backend } = repository;
  const { signal } = options;
  if (writer?.writer !== pinned.owner) {
    throw new StorageError("usage", "only the owner of a repository can change its settings");
  }
  const first = await repository.settings({ ...options, refresh: true });
  /** Heads that the next one has as those before it, the first of which it changes. */
  let known: readonly FoundSettings[] = [first];
  const own: Marker[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const newest = known[0]!;
    const now = await backend.currentTime(signal ? { signal } : {});
    const settings = change(newest.head.settings, now);
    checkGrace(settings.graceSeconds);
    if (settings.graceSeconds < newest.head.settings.graceSeconds) {
      throw new StorageError("usage", "the grace period of a repository can only grow");
    }
    const before = [...known.map(({ marker }) => marker), ...own];
    const place = await headsBefore(backend, newest.marker.chain, before, now, signal);
    // Not heads that others wrote meanwhile: their authors would take the change for one made to theirs.
    const isKnown = new Set(before.map(({ address }) => address));
    const previous = place.previous.filter((address) => isKnown.has(address));
    const after = { ...place, previous };
    const head = settingsHead(pinned.repository, writer.writer, settings, after, now);
    const { marker } = await putHead(repository, writer, head, recipients, { signal });
    own.push(marker);
    const seen = new Set([...previous, ...own.map(({ address }) => address)]);
    known = await unseenSettings(repository, { before: first, seen, own: marker }, options);
    if (known.length === 0) return repository.settings({ ...options, refresh: true });
  }
  throw new StorageError(
    "unavailable",
    `others keep changing the settings of the repository at ${backend.description}: try again later`,
  );
}

/**
 * The settings that were written meanwhile and that do not know of the own ones, newest first. Those know of
 * them that have them, or others that know of them, among the heads before them.
 */
async function unseenSettings(
  repository: Repository,
  {
    before,
    seen,
    own,
  }: {
    readonly before: FoundSettings;
    readonly seen: ReadonlySet<Address>;
    readonly own: Marker;
  },
  options: HeadOptions,
): Promise<FoundSettings[]> {
  const { backend } = repository;
  const written: FoundSettings[] = [];
  const now = await backend.currentTime(options.signal ? { signal: options.signal } : {});
  for await (const listed of newestMarkers(backend, own.chain, now, options.signal)) {
    if (compareMarkers(listed.marker, before.marker) >= 0) break;
    if (seen.has(listed.marker.address)) continue;
    const found = await repository.read(listed, options);
    if (found?.head.kind === "repo") written.push({ ...found, head: found.head });
  }
  const knowing = new Set([own.address]);
  // A head comes after those before it, in generations too.
  for (const { marker, head } of written.toReversed()) {
    if (head.previous.some((address) => knowing.has(address))) knowing.add(marker.address);
  }
  return written.filter(({ marker }) => !knowing.has(marker.address));
}

/** Lets a writer write to the chains that a pattern matches, also if its right to that has ended. */
export function allow(settings: Settings, rule: Omit<Rule, "lastGeneration">): Settings {
  return withRule(settings, { ...rule, lastGeneration: null });
}

/** Settings with a rule, in the place of those that grant the same with other last generations. */
function withRule(settings: Settings, rule: Rule): Settings {
  const at = settings.rules.findIndex((other) => grantsSame(other, rule));
  const others = settings.rules.filter((other) => !grantsSame(other, rule));
  return { ...settings, rules: others.toSpliced(at === -1 ? others.length : at, 0, rule) };
}

function grantsSame(a: Rule, b: Rule): boolean {
  return a.writer === b.writer && a.pattern === b.pattern && a.mayForget === b.mayForget;
}

/**
 * Settings without a writer's rights behind a generation, as `revokeWriter` changes them.
 *
 * @throws StorageError `usage` if it has none
 */
export function revoke(settings: Settings, writer: Writer, lastGeneration: number): Settings {
  const rules = settings.rules.map((rule): Rule => {
    if (rule.writer !== writer) return rule;
    const last = Math.min(rule.lastGeneration ?? Infinity, lastGeneration);
    return Object.assign({}, rule, { lastGeneration: last });
  });
  if (!settings.rules.some((rule) => rule.writer === writer)) {
    throw new StorageError("usage", `${writer} is not allowed anything in this repository`);
  }
  return { ...settings, rules };
}

/**
 * Ends a writer's rights now. What it wrote until then stays, also where its heads are ahead of the store's
 * time, as those are that others have pushed ahead with markers that they made up: the rights then end
 * behind the newest of these.
 *
 * @throws StorageError as `changeSettings`
 */
export async function revokeWriter(
  repository: Repository,
  recipients: readonly string[],
  writer: Writer,
  options: HeadOptions = {},
): Promise<FoundSettings> {
  const { signal } = options;
  const now = await repository.clock.now(signal);
  let last = 0;
  for await (const listed of listMarkers(repository.backend, "", signal ? { signal } : {})) {
    const { generation } = listed.marker;
    if (generation <= Math.max(now, last)) continue;
    const found = await repository.read(listed, options);
    if (found?.head.writer === writer) last = generation;
  }
  const change = (settings: Settings, time: number) =>
    revoke(settings, writer, Math.max(time, last));
  return changeSettings(repository, recipients, change, options);
}

/**
 * Closes the chains that a pattern matches: nobody writes to them any more, the owner neither. If it is
 * closed already, the earlier one of the last generations stays.
 */
export function close(settings: Settings, pattern: string, lastGeneration: number): Settings {
  const rule = { writer: null, pattern, mayForget: false, lastGeneration };
  const ends = settings.rules.flatMap((other) =>
    grantsSame(other, rule) ? (other.lastGeneration ?? []) : [],
  );
  return withRule(settings, { ...rule, lastGeneration: Math.min(lastGeneration, ...ends) });
}

function checkGrace(seconds: number): void {
  if (Number.isSafeInteger(seconds) && seconds >= GRACE_MIN) return;
  throw new StorageError("usage", `the grace period must be at least ${GRACE_MIN} seconds`);
}
