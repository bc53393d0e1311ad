import { type Forgetting, forgettingsInForce } from "./forgetting.ts";
import { type Marker, compareMarkers, formatMarker } from "../format/names/marker.ts";
import { lineageOf, meetingsOf, tipsOf } from "./forks.ts";
import { type StoredHead, closedBehind } from "./counting.ts";
import type { ChainId } from "../format/names/identifiers.ts";
import type { Writer } from "../format/keys/writer.ts";

/** A marker, and the store's time of it in milliseconds. */
export interface DatedMarker {
  readonly marker: Marker;
  readonly storedAt: number;
}

/** A head that counts, and the store's time of its marker in milliseconds. */
export interface DatedHead extends StoredHead {
  readonly storedAt: number;
}

/** Everything that decides when heads die. */
export interface Deaths {
  /** All heads that count, in any order. */
  readonly heads: readonly DatedHead[];
  /** The markers whose heads do not count. */
  readonly refused: readonly DatedMarker[];
  /** The heads of kind `forget` and `unforget` that count. */
  readonly forgettings: readonly (Forgetting & DatedMarker)[];
  readonly owner: Writer;
  /** In milliseconds. */
  readonly grace: number;
}

/** One head, under one or more addresses. */
interface Payload {
  readonly head: DatedHead;
  /** The store's times of the first marker and of the last one. */
  firstAt: number;
  lastAt: number;
}

/**
 * From when on each head is dead, by the store's time in milliseconds: then nothing of it is protected
 * any more, because everything that makes it superfluous was there a grace period before. Infinity as
 * long as something of that is not there at all.
 *
 * - A snapshot: itself, the forgetting in force, and a newer snapshot of its chain, or what closed it.
 * - A `part`: itself, and a newer head of its chain, or what closed it.
 * - Settings: themselves and newer ones that no others are apart from; none while there are several tips,
 *   even if these are joins of the same heads.
 *   What these have changed, and from what, is needed to join them, also by an owner who read them before
 *   another joined them. And if a prune that is killed deleted one of those apart, what came before it would
 *   look like a change that nobody has joined.
 * - A `forget` or `unforget`: itself, and a newer head of its chain, for machines remember the newest of
 *   each chain; and not before the heads that it names.
 * - Keys, and what does not count: itself, and the owner's forgetting.
 *
 * @returns the time for a marker; Infinity also for markers that are not known
 */
export function deathsOf({
  heads,
  refused,
  forgettings,
  owner,
  grace,
}: Deaths): (marker: Marker) => number {
  const payloadOf = new Map<string, string>();
  const payloads = new Map<string, Payload>();
  for (const head of heads) {
    payloadOf.set(formatMarker(head.marker), head.payloadHash);
    const known = payloads.get(head.payloadHash);
    if (known === undefined) {
      payloads.set(head.payloadHash, { head, firstAt: head.storedAt, lastAt: head.storedAt });
    } else {
      known.firstAt = Math.min(known.firstAt, head.storedAt);
      known.lastAt = Math.max(known.lastAt, head.storedAt);
    }
  }
  const key = (marker: Marker) => payloadOf.get(formatMarker(marker)) ?? formatMarker(marker);
  const byAnyone = forgettingsInForce(forgettings, key);
  const owners = forgettings.filter(({ head }) => head.writer === owner);
  const byOwner = forgettingsInForce(owners, key);
  const forgottenAt = (payload: string, inForce: typeof byAnyone): number => {
    const forgetting = inForce.get(payload);
    return forgetting?.head.kind === "forget" ? forgetting.storedAt : Infinity;
  };

  const deaths = new Map<string, number>();
  const chains = new Map<ChainId, Payload[]>();
  for (const payload of payloads.values()) {
    const { chain } = payload.head.head;
    const others = chains.get(chain);
    if (others === undefined) chains.set(chain, [payload]);
    else others.push(payload);
  }
  const settings = [...payloads.values()]
    .filter(({ head }) => head.head.kind === "repo")
    .toSorted((a, b) => compareMarkers(a.head.marker, b.head.marker));
  // With all addresses of each, because a head may name any of them.
  const settingsHeads = heads
    .filter(({ head }) => head.kind === "repo")
    .toSorted((a, b) => compareMarkers(a.marker, b.marker));
  const lineage = lineageOf(settingsHeads);
  const areApart = tipsOf(lineage).length > 1;
  const meetings = new Set(Array.from(meetingsOf(lineage), ({ payloadHash }) => payloadHash));

  /** Those that forget or unforget, newest first, and when they die if nothing is left that they name. */
  const forgetting: { readonly head: DatedHead; readonly death: number }[] = [];

  for (const chain of chains.values()) {
    const newestFirst = chain.toSorted((a, b) => compareMarkers(a.head.marker, b.head.marker));
    const closedAt = closingTime(newestFirst[0]!.head.head.name, settings);
    /** The earliest times of newer heads. */
    let [newerHead, newerSnapshot, newerSettings] = [Infinity, Infinity, Infinity];
    for (const { head, firstAt, lastAt } of newestFirst) {
      const { kind } = head.head;
      const payload = head.payloadHash;
      if (kind === "snap") {
        const needless = Math.max(
          forgottenAt(payload, byAnyone),
          Math.min(newerSnapshot, closedAt),
        );
        deaths.set(payload, Math.max(lastAt, needless) + grace);
        newerSnapshot = Math.min(newerSnapshot, firstAt);
      } else if (kind === "part") {
        deaths.set(payload, Math.max(lastAt, Math.min(newerHead, closedAt)) + grace);
      } else if (kind === "repo") {
        deaths.set(payload, areApart ? Infinity : Math.max(lastAt, newerSettings) + grace);
        if (meetings.has(payload)) newerSettings = Math.min(newerSettings, firstAt);
      } else if (kind === "keys") {
        deaths.set(payload, Math.max(lastAt, forgottenAt(payload, byOwner)) + grace);
      } else {
        forgetting.push({ head, death: Math.max(lastAt, newerHead) + grace });
      }
      newerHead = Math.min(newerHead, firstAt);
    }
  }
  for (const { marker, storedAt } of refused) {
    const payload = formatMarker(marker);
    deaths.set(payload, Math.max(storedAt, forgottenAt(payload, byOwner)) + grace);
  }
  // What is not listed is not left, and keeps nothing.
  const leftUntil = (marker: Marker) => deaths.get(key(marker)) ?? -Infinity;
  for (const { head, death } of forgetting.toReversed()) {
    if (head.head.kind !== "forget" && head.head.kind !== "unforget") continue;
    const until = head.head.markers.map(leftUntil);
    deaths.set(
      head.payloadHash,
      until.reduce((a, b) => Math.max(a, b), death),
    );
  }
  return (marker) => deaths.get(key(marker)) ?? Infinity;
}

/**
 * When a chain was closed for good: the owner's settings since then close it, and its last generation,
 * which is a time, is over.
 */
function closingTime(name: string, settings: readonly Payload[]): number {
  let earliest = Infinity;
  let last = -Infinity;
  for (const { head, firstAt } of settings) {
    if (head.head.kind !== "repo") continue;
    const behind = closedBehind(name, head.head.settings);
    if (behind === Infinity) break;
    last = Math.max(last, behind);
    earliest = Math.min(earliest, Math.max(firstAt, last));
  }
  return earliest;
}

/** The chains of heads, by what they are called. */
export function namesOf(heads: readonly StoredHead[]): ReadonlyMap<ChainId, string> {
  return new Map(heads.map(({ head }) => [head.chain, head.name]));
}
