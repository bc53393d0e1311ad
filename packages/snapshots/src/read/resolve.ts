import { type Address, StorageError } from "@idk/storage";
import type { FoundHead, ListedMarker } from "../repository/find-heads.ts";
import { type FoundSnapshot, type HeadOptions, type Repository } from "../repository/repository.ts";
import { compareMarkers } from "../format/names/marker.ts";
import { closedBehind } from "../rules/counting.ts";
import { faultOfChainName } from "../format/names/chain.ts";
import { listMarkers } from "../repository/find-heads.ts";

/** Which snapshot is meant. */
type Choice =
  | { readonly kind: "latest" }
  | { readonly kind: "address"; readonly prefix: string }
  | {
      readonly kind: "chain";
      readonly name: string;
      readonly back: number;
      readonly until: number;
    };

/** Options of `resolveSnapshot`. */
export interface ResolveOptions extends HeadOptions {
  /**
   * Whether a snapshot is forgotten, as `forgottenIn` finds out. Those are passed over unless the text is
   * an address; without this option, none is. Not asked of the newest of a name that is not closed, which
   * cannot be forgotten.
   */
  readonly isForgotten?: ((found: FoundSnapshot) => Promise<boolean>) | undefined;
}

/**
 * The snapshot that a text means: `latest` (the newest of all chains), `NAME` (the newest of a chain),
 * `NAME~2` (the second before that), `NAME@2026-11-20` (the newest of that day in UTC or before; also a
 * time, `NAME@2026-11-20T12:00:00Z`), or the address of its head or at least the first 8 digits of it.
 *
 * @throws StorageError `not-found`, `rollback`; `usage` if the text is none of this, or ambiguous
 */
export async function resolveSnapshot(
  repository: Repository,
  text: string,
  options: ResolveOptions = {},
): Promise<FoundSnapshot> {
  const choice = parseChoice(text);
  let found: FoundSnapshot | undefined;
  if (choice.kind === "chain") found = await inChain(repository, choice, options);
  else found = await newestOfAll(repository, choice, options);
  if (found !== undefined) return found;
  throw new StorageError("not-found", `there is no snapshot ${JSON.stringify(text)}`);
}

const ADDRESS = /^[0-9a-f]{64}$/u;
const ADDRESS_PREFIX = /^[0-9a-f]{8,64}$/u;
const BACK = /^(.+)~(\d{1,6})$/su;
const DATE = /^(.+)@(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2})?Z)?$/su;
const DAY = 24 * 60 * 60 * 1000;

function parseChoice(text: string): Choice {
  if (text === "latest") return { kind: "latest" };
  if (ADDRESS.test(text)) return { kind: "address", prefix: text };
  const [, backName, back] = BACK.exec(text) ?? [];
  const [, dateName, day, time] = DATE.exec(text) ?? [];
  const name = backName ?? dateName ?? text;
  const fault = faultOfChainName(name);
  if (fault !== undefined) {
    throw new StorageError("usage", `${JSON.stringify(name)} is not a name of snapshots: ${fault}`);
  }
  let until = Infinity;
  if (day !== undefined) {
    const start = Date.parse(`${day}${time ?? "T00:00Z"}`);
    if (Number.isNaN(start)) throw new StorageError("usage", `there is no date ${day}`);
    until = time === undefined ? start + DAY - 1 : start;
  }
  return { kind: "chain", name, back: Number(back ?? 0), until };
}

async function inChain(
  repository: Repository,
  { name, back, until }: Extract<Choice, { kind: "chain" }>,
  options: ResolveOptions,
): Promise<FoundSnapshot | undefined> {
  let left = back;
  let isEmpty = true;
  const seen = new Set<string>();
  for await (const found of repository.snapshots(name, options)) {
    const isNewest = isEmpty;
    isEmpty = false;
    // One snapshot may be stored several times.
    if (found.head.time > until || seen.has(found.payloadHash)) continue;
    seen.add(found.payloadHash);
    if (await isPassedOver(repository, found, isNewest, options)) continue;
    if (left === 0) return found;
    left -= 1;
  }
  const isWhole = back === 0 && until === Infinity;
  if (!isEmpty || !isWhole || !ADDRESS_PREFIX.test(name)) return undefined;
  return newestOfAll(repository, { kind: "address", prefix: name }, options);
}

/** Whether a snapshot is forgotten. */
async function isPassedOver(
  repository: Repository,
  found: FoundSnapshot,
  isNewest: boolean,
  { isForgotten, ...options }: ResolveOptions,
): Promise<boolean> {
  if (isForgotten === undefined) return false;
  if (isNewest) {
    const settings = await repository.settings(options);
    if (closedBehind(found.head.name, settings.head.settings) === Infinity) return false;
  }
  return isForgotten(found);
}

/** Markers of all chains that are held at once. */
const WINDOW = 4096;

/** The newest of all snapshots, or the one of an address. */
async function newestOfAll(
  repository: Repository,
  choice: Exclude<Choice, { kind: "chain" }>,
  options: ResolveOptions,
): Promise<FoundSnapshot | undefined> {
  const matches = ({ marker }: ListedMarker) =>
    choice.kind === "latest" || marker.address.startsWith(choice.prefix);
  let last: ListedMarker | undefined;
  for (;;) {
    const window = await newestWindow(repository, matches, last, options.signal);
    const addresses = new Set<Address>(window.map(({ marker }) => marker.address));
    if (choice.kind === "address" && addresses.size > 1) {
      throw new StorageError(
        "usage",
        `${choice.prefix} begins several addresses: give more digits`,
      );
    }
    for (const listed of window) {
      const found: FoundHead | undefined = await repository.read(listed, options);
      if (found?.head.kind !== "snap") continue;
      const newest: FoundSnapshot = { ...found, head: found.head };
      if (choice.kind === "latest" && (await isPassedOver(repository, newest, true, options))) {
        continue;
      }
      await compareNewer(repository, found, options);
      return newest;
    }
    if (window.length < WINDOW) return undefined;
    last = window.at(-1);
  }
}

/** Compares its chain, and all that had newer heads, with what this machine remembers. */
async function compareNewer(
  repository: Repository,
  { head, marker }: FoundHead,
  options: HeadOptions,
): Promise<void> {
  await repository.newest(head.name, options);
  for (const remembered of (await repository.memory.recall()).values()) {
    const isNewer = compareMarkers(remembered.marker, marker) < 0;
    if (isNewer && remembered.name !== head.name) await repository.newest(remembered.name, options);
  }
}

/** The newest markers that match and come after the last one, over all chains. */
async function newestWindow(
  { backend }: Repository,
  matches: (listed: ListedMarker) => boolean,
  last: ListedMarker | undefined,
  signal: AbortSignal | undefined,
): Promise<ListedMarker[]> {
  const order = (a: ListedMarker, b: ListedMarker) => compareMarkers(a.marker, b.marker);
  let window: ListedMarker[] = [];
  for await (const listed of listMarkers(backend, "", signal ? { signal } : {})) {
    if (!matches(listed) || (last !== undefined && order(listed, last) <= 0)) continue;
    window.push(listed);
    if (window.length === 2 * WINDOW) window = window.toSorted(order).slice(0, WINDOW);
  }
  return window.toSorted(order).slice(0, WINDOW);
}
