import { open, readFile } from "node:fs/promises";
import {
  array,
  custom,
  type GenericSchema,
  integer,
  literal,
  maxLength,
  maxValue,
  minValue,
  number,
  object,
  optional,
  picklist,
  pipe,
  record,
  regex,
  safeParse,
  string,
  union,
  boolean,
} from "valibot";
import {
  Failure,
  type FailureCode,
  isFailureCode,
  reasonOf,
  systemCodeOf,
  usage,
} from "../errors/failures.ts";
import { AT_ONCE } from "../input/small-file.ts";
import { replaceFile } from "../replace-file.ts";
import { type Shard, SHARDS_MAX, shardText } from "./shard.ts";

/** The commands that work on shards. */
export const SHARDED = ["verify", "copy", "check", "prune", "gateway check"] as const;

export type ShardedCommand = (typeof SHARDED)[number];

/** A blob or head that failed, or a problem of it. */
export interface ReportedFailure {
  /** The address of a blob; undefined if the message has it. */
  readonly item?: string | undefined;
  readonly code: FailureCode;
  readonly message: string;
}

/** A blob that the store did not answer for: the next run tries it again. */
export interface UnansweredBlob {
  /** The index of the backend, as in a position. */
  readonly place: number;
  readonly name: string;
  /** Bytes, as listed. */
  readonly size: number;
  /** Of its failure. */
  readonly code: FailureCode;
}

/** What was done, to add to a report. */
export interface Outcome {
  readonly counts: Counts;
  readonly failures: readonly ReportedFailure[];
  /** Those of the failures that are to be tried again. */
  readonly unanswered: readonly UnansweredBlob[];
}

/** What a shard has done so far or in all: the file of `--report`, which `idk merge-reports` reads. */
export interface Report {
  readonly format: typeof FORMAT;
  readonly command: ShardedCommand;
  /** Options of the command that change its result. */
  readonly options: Readonly<Record<string, string | boolean>>;
  /** Without credentials; of a copy the source and the target. */
  readonly stores: readonly string[];
  readonly shard: Shard;
  /** When the first run began, by the clock of its machine: ISO 8601 in UTC. */
  readonly begun: string;
  /** The same of the end, or of the last blobs that were tried again; undefined before. */
  readonly ended?: string | undefined;
  /** How many backends a command that works on several has seen: the store, and its snapshots. */
  readonly places?: number | undefined;
  /** How far it is; undefined at the end. */
  readonly position?: Position | undefined;
  /** What the shards add up. */
  readonly counts: Counts;
  /** What each shard has seen in whole, such as the number of snapshots. */
  readonly shared: Counts;
  /** How many failures there are of each code. */
  readonly failed: Readonly<Partial<Record<FailureCode, number>>>;
  /** The first failures. */
  readonly failures: readonly ReportedFailure[];
  /** All blobs that failed because the store did not answer for them. */
  readonly unanswered: readonly UnansweredBlob[];
}

export type Counts = Readonly<Record<string, number>>;

/** Where a run continues. */
export interface Position {
  /** The index of the backend, if the command works on several: the store, and its snapshots. */
  readonly place: number;
  /** The last address up to which all are done; empty at the beginning. */
  readonly after: string;
  /** For a check: the addresses of packs that were found sound, 32 bytes each, in base64. */
  readonly sound?: string | undefined;
  /** For a check of a gateway: the last object that was checked, with its key in base64. */
  readonly object?: { readonly bucket: number; readonly key: string } | undefined;
}

/** The version of the schema is a part of it. */
const FORMAT = "idk-shard-report-1";

/** What the names of a check's counts of problems begin with. */
export const FOUND = "found ";

/** Failures that a report names; the others are counted. */
const FAILURES_MAX = 1000;

/** Blobs to try again that a report has: they take up to 15 MB, and each record writes them. */
export const UNANSWERED_MAX = 100_000;

/** Beyond it, a file is no report. */
const LENGTH_MAX = 2 ** 28;
const TEXT_MAX = 4096;

const amount = pipe(number(), integer(), minValue(0));
const counts = record(pipe(string(), maxLength(64)), amount);
const text = pipe(string(), maxLength(TEXT_MAX));
const time = pipe(string(), regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u));
const base64 = pipe(string(), regex(/^[A-Za-z0-9+/]*={0,2}$/u));
const address = pipe(string(), regex(/^[0-9a-f]{64}$/u));
const code = custom<FailureCode>(isFailureCode, "is no error code");
const shardNumber = pipe(number(), integer(), minValue(1), maxValue(SHARDS_MAX));

const SCHEMA: GenericSchema<unknown, Report> = object({
  format: literal(FORMAT),
  command: picklist(SHARDED),
  options: record(pipe(string(), maxLength(64)), union([text, boolean()])),
  stores: array(text),
  shard: object({ index: shardNumber, count: shardNumber }),
  begun: time,
  ended: optional(time),
  places: optional(amount),
  position: optional(
    object({
      place: amount,
      after: pipe(string(), regex(/^(?:[0-9a-f]{64})?$/u)),
      sound: optional(base64),
      object: optional(object({ bucket: amount, key: base64 })),
    }),
  ),
  counts,
  shared: counts,
  failed: record(code, amount) as GenericSchema<unknown, Report["failed"]>,
  failures: pipe(
    array(object({ item: optional(text), code, message: text })),
    maxLength(FAILURES_MAX),
  ),
  unanswered: pipe(
    array(object({ place: amount, name: address, size: amount, code })),
    maxLength(UNANSWERED_MAX),
  ),
});

/** What a run is about, which the report of an earlier run has to agree with. */
export type Subject = Pick<Report, "command" | "options" | "stores" | "shard" | "places">;

/** The first option that two runs differ in, and its values; undefined if there is none. */
export function otherOption(
  { options: a }: Pick<Report, "options">,
  { options: b }: Pick<Report, "options">,
): { readonly name: string; readonly values: [string, string] } | undefined {
  const found = Object.keys({ ...a, ...b }).find((key) => a[key] !== b[key]);
  if (found === undefined) return undefined;
  const name = found.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
  return { name, values: [String(a[found] ?? "nothing"), String(b[found] ?? "nothing")] };
}

export function newReport(subject: Subject): Report {
  return {
    format: FORMAT,
    ...subject,
    begun: now(),
    position: { place: 0, after: "" },
    counts: {},
    shared: {},
    failed: {},
    failures: [],
    unanswered: [],
  };
}

export function now(): string {
  return new Date().toISOString();
}

/** @throws Failure `usage` if it cannot be read or is no report; undefined if there is no file */
export async function readReport(path: string): Promise<Report | undefined> {
  let json: string;
  try {
    // Neither waits for a program to write to a pipe, nor reads a device without an end.
    const handle = await open(path, AT_ONCE);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw usage(`${path} is not a regular file, so it is no report`);
      if (stats.size > LENGTH_MAX) throw usage(`${path} is too long for a report`);
      json = await readFile(handle, "utf8");
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    if (error instanceof Failure) throw error;
    throw usage(`cannot read the report ${path}: ${reasonOf(error)}`, error);
  }
  const { success, output } = safeParse(SCHEMA, parsed(json));
  if (
    success &&
    output.shard.index <= output.shard.count &&
    (output.position === undefined) === (output.ended !== undefined) &&
    countsAll(output, output.failures) &&
    countsAll(output, output.unanswered)
  ) {
    return output;
  }
  throw usage(
    `${path} is not a report of this version of idk: name another file, or delete it to begin again`,
  );
}

function countsAll({ failed }: Report, failures: readonly Coded[]): boolean {
  return Object.values(sumOf(failed, numbersOf(failures, -1))).every((rest) => rest >= 0);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** Replaces the file as a whole, so that a crash leaves the old or the new one. */
export async function writeReport(path: string, report: Report): Promise<void> {
  try {
    await replaceFile(path, `${JSON.stringify(report)}\n`, 0o600);
  } catch (error) {
    throw usage(`cannot write the report ${path}: ${reasonOf(error)}`, error);
  }
}

/**
 * Adds what was done to a report.
 *
 * @throws Failure `unavailable` if the store did not answer for more blobs than a report has
 */
export function addTo(report: Report, ...outcomes: readonly Partial<Outcome>[]): Report {
  const failures = outcomes.flatMap((outcome) => outcome.failures ?? []);
  const unanswered = outcomes.flatMap((outcome) => outcome.unanswered ?? []);
  if (report.unanswered.length + unanswered.length > UNANSWERED_MAX) {
    throw new Failure(
      "unavailable",
      `stopped: the store did not answer for more than ${UNANSWERED_MAX} blobs of shard ` +
        `${shardText(report.shard)}: check the store and run the same command again, or divide the store into more shards`,
    );
  }
  return {
    ...report,
    counts: outcomes.reduce((sum, outcome) => sumOf(sum, outcome.counts ?? {}), report.counts),
    failed: sumOf(report.failed, numbersOf(failures, 1)),
    failures: [...report.failures, ...failures.map(shortened)].slice(0, FAILURES_MAX),
    unanswered: [...report.unanswered, ...unanswered],
  };
}

type Coded = Pick<ReportedFailure, "code">;

/** How many there are of each code, times `factor`. */
function numbersOf(failures: readonly Coded[], factor: 1 | -1): Report["failed"] {
  const numbers: Partial<Record<FailureCode, number>> = {};
  for (const { code: of } of failures) numbers[of] = (numbers[of] ?? 0) + factor;
  return numbers;
}

/** Takes blobs of a report that are tried again out of it, and their failures. */
export function withoutUnanswered(report: Report, tried: readonly UnansweredBlob[]): Report {
  const blobs = new Set(tried);
  const names = new Set(tried.map(({ name }) => name));
  return {
    ...report,
    failed: sumOf(report.failed, numbersOf(tried, -1)),
    failures: report.failures.filter(({ item }) => item === undefined || !names.has(item)),
    unanswered: report.unanswered.filter((blob) => !blobs.has(blob)),
  };
}

/** Adds the report of another shard that is complete, too. */
export function addReport(sum: Report, other: Report): Report {
  const { counts, shared, failed, failures } = other;
  return {
    ...sum,
    begun: sum.begun < other.begun ? sum.begun : other.begun,
    ended: sum.ended! > other.ended! ? sum.ended : other.ended,
    counts: sumOf(sum.counts, counts),
    shared: largestOf(sum.shared, shared),
    failed: sumOf(sum.failed, failed),
    failures: [...sum.failures, ...failures].slice(0, FAILURES_MAX),
  };
}

/** The store may have grown from one shard to the next. */
function largestOf(a: Counts, b: Counts): Counts {
  const largest: Record<string, number> = { ...a };
  for (const [key, value] of Object.entries(b)) largest[key] = Math.max(largest[key] ?? 0, value);
  return largest;
}

function sumOf<K extends string>(
  a: Readonly<Partial<Record<K, number>>>,
  b: Readonly<Partial<Record<K, number>>>,
): Record<K, number> {
  const sum = { ...a } as Record<K, number>;
  for (const [key, value] of Object.entries(b) as [K, number][]) sum[key] = (sum[key] ?? 0) + value;
  return sum;
}

function shortened({ item, code: of, message }: ReportedFailure): ReportedFailure {
  return { code: of, item: item?.slice(0, TEXT_MAX), message: message.slice(0, TEXT_MAX) };
}

/** How many failures a report counts, and their codes. */
export function failuresOf({ failed }: Report): {
  readonly count: number;
  readonly codes: readonly FailureCode[];
} {
  const found = Object.entries(failed) as [FailureCode, number][];
  return {
    count: found.reduce((sum, [, number]) => sum + number, 0),
    codes: found.flatMap(([of, number]) => (number > 0 ? [of] : [])),
  };
}
