import type { Metadata } from "@idk/storage";

/** The media type of a segment: lines of `Exchange` in JSON, UTF-8, each ended by a line feed. */
export const SEGMENT_TYPE = "application/vnd.idk.recorder+ndjson; version=1";

/** The metadata of a segment, sealed together with its content in one root. */
export interface SegmentMetadata {
  /** When the first exchange of the segment began, and the last one: milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  /** Lines. */
  readonly count: number;
  /** The recorder that wrote it: 32 random hex digits, others in each process. */
  readonly run: string;
  /** The number of the segment in its run, from 0, without gaps. */
  readonly seq: number;
  /** The address of the segment before it in its run; absent in the first. */
  readonly prev?: string;
  /** What the run counted until the segment was sealed. */
  readonly totals: RunTotals;
  /**
   * Present in the last segment of a run. `closed`: the recorder was closed; its totals are exact.
   * `lost`: the process ended without that, and another one that shares its spool wrote this. Its
   * totals are those of up to 1 s before the end; exchanges that were seen, and neither stored, nor
   * not kept, nor dropped, are lost. A run may go on after `lost` if its process was only suspended.
   */
  readonly end?: "closed" | "lost";
}

/** Exchanges of a run. `seen` = stored + `notKept` + `dropped` + those that are queued or open. */
export interface RunTotals {
  /** Exchanges that began. */
  readonly seen: number;
  /** Those in segments, this one included. */
  readonly stored: number;
  /** Those that `keep` declined. */
  readonly notKept: number;
  /** Those that were lost, by reason; reasons without any are absent. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
  /** Bodies of stored exchanges that were omitted because too many bytes were queued. */
  readonly bodiesDropped: number;
}

/**
 * Why an exchange was not stored.
 *
 * - `queue`   too many bytes were queued
 * - `redact`  redaction failed
 * - `seal`    its segment could not be sealed, because of its recipients
 * - `spool`   the spool was full, or could not be written
 */
export const DROP_REASONS = ["queue", "redact", "seal", "spool"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** The metadata of the root. Totals are one JSON text, because values are text or integers. */
export function encodeSegmentMetadata(segment: SegmentMetadata): Metadata {
  const { totals, prev, end, ...rest } = segment;
  return {
    type: SEGMENT_TYPE,
    ...rest,
    totals: JSON.stringify(totals),
    ...(prev === undefined ? {} : { prev }),
    ...(end === undefined ? {} : { end }),
  };
}

/**
 * Checks the metadata of a root, which any writer may have made.
 *
 * @returns undefined if the root is not a segment of this version
 */
export function decodeSegmentMetadata(metadata: Metadata): SegmentMetadata | undefined {
  const {
    from,
    to,
    count,
    run,
    seq,
    prev,
    end,
    totals: text,
  } = metadata as Record<string, unknown>;
  if (metadata.type !== SEGMENT_TYPE) return undefined;
  if (!isCount(from) || !isCount(to) || !isCount(count) || !isCount(seq)) return undefined;
  if (typeof run !== "string" || !/^[0-9a-f]{32}$/u.test(run)) return undefined;
  if (prev !== undefined && !(typeof prev === "string" && /^[0-9a-f]{64}$/u.test(prev))) {
    return undefined;
  }
  if (end !== undefined && end !== "closed" && end !== "lost") return undefined;
  const totals = decodeTotals(text);
  if (totals === undefined) return undefined;
  return {
    from,
    to,
    count,
    run,
    seq,
    totals,
    ...(prev === undefined ? {} : { prev }),
    ...(end === undefined ? {} : { end }),
  };
}

/**
 * Checks totals as JSON, which any writer may have made. Reasons that this version does not know are
 * kept out.
 *
 * @returns undefined if the text is not totals
 */
export function decodeTotals(text: unknown): RunTotals | undefined {
  const found = parseObject(text);
  if (found === undefined) return undefined;
  const { seen, stored, notKept, bodiesDropped, dropped: byReason } = found;
  if (!isCount(seen) || !isCount(stored) || !isCount(notKept) || !isCount(bodiesDropped)) {
    return undefined;
  }
  if (typeof byReason !== "object" || byReason === null) return undefined;
  const dropped: Partial<Record<DropReason, number>> = {};
  for (const reason of DROP_REASONS) {
    const count = (byReason as Record<string, unknown>)[reason];
    if (count === undefined) continue;
    if (!isCount(count)) return undefined;
    dropped[reason] = count;
  }
  return { seen, stored, notKept, dropped, bodiesDropped };
}

function parseObject(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
