import { type Backend, type NaClChoice, StorageError, loadNaCl } from "@idk/storage";
import { GRACE_MIN, UUID_LENGTH } from "../format/limits.ts";
import { type FoundSettings, type HeadOptions, type Repository } from "./repository.ts";
import type { Rule, Settings } from "../format/records/settings.ts";
import { listMarkers } from "./find-heads.ts";
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
 * @throws StorageError `usage` if the location has markers already
 */
export async function createRepository(options: CreateOptions): Promise<PinnedRepository> {
  const { owner, recipients, rules = [], graceSeconds = GRACE_DEFAULT, signal } = options;
  const backend = requireMarkers(options.backend);
  checkGrace(graceSeconds);
  const naCl = await loadNaCl(options.naCl ?? "auto");
  // First, because it makes a folder that does not exist, which a listing refuses.
  const now = await backend.currentTime(signal ? { signal } : {});
  for await (const _ of listMarkers(backend, "", { limit: 1, ...(signal && { signal }) })) {
    throw new StorageError(
      "usage",
      `${backend.description} has a repository already: open it, or choose another location`,
    );
  }
  const repository = randomBytes(UUID_LENGTH).toString("hex") as RepositoryId;
  const place = { generation: now, previous: [] };
  const head = settingsHead(repository, owner.writer, { graceSeconds, rules }, place, now);
  await putHead({ backend, naCl }, owner, head, recipients, { signal });
  return { repository, owner: owner.writer, graceSeconds };
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

/**
 * Changes the settings: reads the newest, and signs new ones.
 *
 * @param change from the settings now, and the store's time in milliseconds, to the new ones
 * @throws StorageError `usage` if this machine does not hold the owner's key, or the grace period would
 *   shrink
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
  const newest = await repository.settings({ ...options, refresh: true });
  const now = await backend.currentTime(signal ? { signal } : {});
  const settings = change(newest.head.settings, now);
  checkGrace(settings.graceSeconds);
  if (settings.graceSeconds < newest.head.settings.graceSeconds) {
    throw new StorageError("usage", "the grace period of a repository can only grow");
  }
  const place = await headsBefore(backend, newest.marker.chain, newest.marker, now, signal);
  const head = settingsHead(pinned.repository, writer.writer, settings, place, now);
  await putHead(repository, writer, head, recipients, { signal });
  return repository.settings({ ...options, refresh: true });
}

/** Lets a writer write to the chains that a pattern matches. */
export function allow(settings: Settings, rule: Omit<Rule, "lastGeneration">): Settings {
  return { ...settings, rules: [...settings.rules, { ...rule, lastGeneration: null }] };
}

/**
 * Ends a writer's rights. What it wrote until then stays.
 *
 * @param lastGeneration as a rule the store's time now
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

/** Closes the chains that a pattern matches: nobody writes to them any more, the owner neither. */
export function close(settings: Settings, pattern: string, lastGeneration: number): Settings {
  const rule: Rule = { writer: null, pattern, mayForget: false, lastGeneration };
  return { ...settings, rules: [...settings.rules, rule] };
}

function checkGrace(seconds: number): void {
  if (Number.isSafeInteger(seconds) && seconds >= GRACE_MIN) return;
  throw new StorageError("usage", `the grace period must be at least ${GRACE_MIN} seconds`);
}
