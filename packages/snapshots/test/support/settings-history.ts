import type { Address } from "@idk/storage";
import type { RepositoryHead } from "../../src/format/records/head.ts";
import type { Settings } from "../../src/format/records/settings.ts";
import { type SettingsHead, joinSettings } from "../../src/rules/joining.ts";
import { compareMarkers } from "../../src/format/names/marker.ts";
import { type Lineage, lineageOf, tipsOf } from "../../src/rules/forks.ts";

/** What settings that come after none are made from. */
export const START: Settings = { graceSeconds: 3600, rules: [] };

type Change = (settings: Settings) => Settings;

/** Heads of settings that are written one after the other, each with a greater generation. */
export interface SettingsHistory {
  readonly heads: readonly SettingsHead[];
  /** The heads, newest first. */
  readonly chain: () => readonly SettingsHead[];
  readonly lineage: () => Lineage<SettingsHead>;
  readonly tips: () => readonly SettingsHead[];
  /** @param generation by default greater than all before */
  readonly put: (
    settings: Settings,
    previous: readonly Address[],
    generation?: number,
  ) => SettingsHead;
  /** @param before the first of which is changed; none if nothing was there */
  readonly change: (change: Change, ...before: readonly SettingsHead[]) => SettingsHead;
  readonly join: (...tips: readonly SettingsHead[]) => Settings;
  /** A head that joins others, as an owner writes it. */
  readonly joined: (...tips: readonly SettingsHead[]) => SettingsHead;
  /** As if a head had been pruned, or did not open. */
  readonly lose: (lost: SettingsHead) => void;
  /** Stores a head again under another address, as everyone can who reads it. */
  readonly copy: (found: SettingsHead) => SettingsHead;
}

export function settingsHistory(): SettingsHistory {
  const heads: SettingsHead[] = [];
  let count = 0;
  const newAddress = () => {
    count += 1;
    return count.toString(16).padStart(64, "0") as Address;
  };
  const chain = () => heads.toSorted((a, b) => compareMarkers(a.marker, b.marker));
  const lineage = () => lineageOf(chain());
  const put: SettingsHistory["put"] = (settings, previous, given) => {
    const address = newAddress();
    const generation = given ?? 100 + count;
    const head = {
      kind: "repo",
      name: "",
      generation,
      previous,
      settings,
    } as never as RepositoryHead;
    const marker = { chain: "0".repeat(32) as never, generation, address };
    const found = { marker, head, payloadHash: address };
    heads.push(found);
    return found;
  };
  const join = (...tips: readonly SettingsHead[]) =>
    joinSettings(
      lineage(),
      tips.toSorted((a, b) => compareMarkers(a.marker, b.marker)),
    );
  return {
    heads,
    chain,
    lineage,
    tips: () => tipsOf(lineage()),
    put,
    change: (change, ...before) =>
      put(
        change(before[0]?.head.settings ?? START),
        before.map(({ marker }) => marker.address),
      ),
    join,
    joined: (...tips) =>
      put(
        join(...tips),
        tips.map(({ marker }) => marker.address),
      ),
    lose: (lost) => void heads.splice(heads.indexOf(lost), 1),
    copy(found) {
      const copied = { ...found, marker: { ...found.marker, address: newAddress() } };
      heads.push(copied);
      return copied;
    },
  };
}
