import { normalizedName } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { redactShortText } from "../values/text.ts";

/** What the rules say about the name of a member. */
export interface KeyRules {
  /** The rule for members of this name, or `NOT_COVERED`. */
  readonly rank: number;
  /** For `Paths.step`. */
  readonly literal: string;
  /** The name is a secret itself, such as a card number. */
  readonly isSecret: boolean;
}

/** The names that were seen before, because the same ones come again and again. */
export interface KeyTable {
  find(key: string): KeyRules;
  /** The same of a key without escapes. */
  findBytes(bytes: Buffer, start: number, end: number): KeyRules;
}

const SLOTS = 1024;

/** Longer keys are not kept. */
const KEPT_MAX = 64;

interface Slot {
  readonly key: Buffer;
  readonly rules: KeyRules;
}

const tables = new WeakMap<RuleSet, KeyTable>();

export function keyTable(rules: RuleSet): KeyTable {
  const known = tables.get(rules);
  if (known !== undefined) return known;
  const made = createKeyTable(rules);
  tables.set(rules, made);
  return made;
}

/** One key for each slot: the next with the same hash takes its place, so that memory is bounded. */
function createKeyTable(rules: RuleSet): KeyTable {
  const slots: (Slot | undefined)[] = Array.from({ length: SLOTS });
  const find = (key: string): KeyRules => {
    const name = normalizedName(key);
    return {
      rank: rules.member(name),
      literal: rules.paths.literal(name),
      isSecret: redactShortText(key, rules) !== key,
    };
  };
  return {
    find,
    findBytes(bytes, start, end) {
      const length = end - start;
      if (length > KEPT_MAX) return find(bytes.toString("utf8", start, end));
      // FNV-1a.
      let hash = 0x811c9dc5;
      for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
      const index = (hash ^ (hash >>> 16)) & (SLOTS - 1);
      const slot = slots[index];
      if (slot !== undefined && isSame(slot.key, bytes, start, length)) return slot.rules;
      const found = find(bytes.toString("utf8", start, end));
      slots[index] = { key: Buffer.from(bytes.subarray(start, end)), rules: found };
      return found;
    },
  };
}

function isSame(key: Buffer, bytes: Buffer, start: number, length: number): boolean {
  if (key.length !== length) return false;
  for (let at = 0; at < length; at++) if (key[at] !== bytes[start + at]) return false;
  return true;
}
