import { GRACE_MIN } from "../limits.ts";
import { type Writer, publicKeyOfWriter, writerOfItem } from "../keys/writer.ts";
import { array, malformed, record, text, tuple, uint } from "../checks.ts";
import type { CborItem } from "@idk/storage/blobs";

/** The rules of a repository, which its owner signs. */
export interface Settings {
  /** The grace period G in seconds, at least 3,600: how long prune leaves what is no longer needed. */
  readonly graceSeconds: number;
  readonly rules: readonly Rule[];
}

/** One rule. A key may write a name if some rule for it matches. */
export interface Rule {
  /** Whom it lets write; null closes the chains that it matches. */
  readonly writer: Writer | null;
  /** For names of chains; `*` stands for any text. */
  readonly pattern: string;
  /** Whether the writer may forget heads of these chains, too. */
  readonly mayForget: boolean;
  /** The greatest generation that it applies to; null if there is none. Never null if it closes. */
  readonly lastGeneration: number | null;
}

/** Settings as an item of CBOR-T. */
export function settingsItem({ graceSeconds, rules }: Settings): CborItem {
  const rows = rules.map(({ writer, pattern, mayForget, lastGeneration }) => [
    writer === null ? null : publicKeyOfWriter(writer),
    pattern,
    mayForget ? 1 : 0,
    lastGeneration,
  ]);
  return new Map<string, CborItem>([
    ["g", graceSeconds],
    ["w", rows],
  ]);
}

export function decodeSettings(item: CborItem | undefined): Settings {
  const fields = record(item, "the settings", ["g", "w"]);
  const graceSeconds = uint(fields.g, "the grace period");
  if (graceSeconds < GRACE_MIN) throw malformed(`the grace period is below ${GRACE_MIN} seconds`);
  return { graceSeconds, rules: array(fields.w, "the rules").map(decodeRule) };
}

function decodeRule(item: CborItem): Rule {
  const fields = tuple(item, "a rule", 4);
  const writer = fields[0] === null ? null : writerOfItem(fields[0], "the key of a rule");
  const lastGeneration =
    fields[3] === null ? null : uint(fields[3], "the last generation of a rule");
  const mayForget = uint(fields[2], "the right to forget", 1) === 1;
  if (writer === null && (lastGeneration === null || mayForget)) {
    throw malformed("a rule that closes chains has no last generation, or lets someone forget");
  }
  return { writer, pattern: text(fields[1], "a pattern"), mayForget, lastGeneration };
}
