import type { ScannedBlob, Store } from "@idk/storage";
import { codeOf, EXIT_CODES, Failure } from "../errors/failures.ts";
import { createListFailures } from "../errors/item-failures.ts";
import { count, foreign, formatBytes, roundBytes } from "../output/text.ts";
import type { Session } from "../session.ts";
import { DIGITS_TO_ACT } from "./address.ts";

/** Consecutive store failures that end the run: the number of blobs scanned concurrently. */
const FAILURES_MAX = 16;

/**
 * Prints a line for each content that the identities open.
 *
 * @param options with `all`, also prints other blobs, which otherwise are only counted
 */
export async function listContents(
  opened: Pick<Store, "scan">,
  { all }: { readonly all: boolean },
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  const listing = createLongListing(out.terminal);
  const failures = createListFailures(session, "blob", "address");
  const sum = { opened: 0, bytes: 0, closed: 0, child: 0 };
  let refusals = 0;
  using meter = session.progress.start({ command: "ls", noun: "blob" });
  for await (const blob of opened.scan({ signal })) {
    meter.itemDone();
    if (blob.kind === "failed") {
      const code = codeOf(blob.error);
      // Removed since it was listed.
      if (code === "not-found") continue;
      await failures.add(blob.address, blob.error);
      refusals = EXIT_CODES[code] === EXIT_CODES.unavailable ? refusals + 1 : 0;
      if (refusals < FAILURES_MAX) continue;
      throw new Failure(code, `stopped: the store failed ${refusals} blobs in a row`);
    }
    refusals = 0;
    sum[blob.kind] += 1;
    if (blob.kind === "opened") sum.bytes += blob.stat.size;
    else if (!all) continue;
    await out.result(listing.line(columnsOf(blob)), jsonOf(blob));
    // Print immediately for people.
    if (out.terminal) await out.flush();
  }
  meter.finish();
  await out.flush();
  if (!out.json) await out.note(summary(sum, all));
  failures.throwIfAny(sum.opened + sum.closed + sum.child + failures.count);
}

function summary(
  sum: Readonly<Record<"opened" | "bytes" | "closed" | "child", number>>,
  all: boolean,
): string {
  const rest = [
    ...(sum.closed > 0 ? [`${count(sum.closed, "root")} for other recipients`] : []),
    ...(sum.child > 0 ? [count(sum.child, "chunk")] : []),
  ].join(" and ");
  const left = rest === "" ? "" : `; and ${rest}${all ? "" : " (list them with --all)"}`;
  return `${count(sum.opened, "content")}, ${formatBytes(sum.bytes)}${left}`;
}

/** The cells of a line. */
interface Columns {
  readonly address: string;
  readonly size: string;
  readonly date: string;
  readonly type: string;
  readonly name: string;
}

/** Formats aligned lines. */
export interface LongListing {
  line(columns: Columns): string;
}

/** What other commands accept; the full address does not fit on a terminal. */
const TERMINAL_DIGITS = DIGITS_TO_ACT;
const SIZE_WIDTH = 10;
const DATE_WIDTH = 16;
const TYPE_WIDTH = 16;

/** Metadata can be long; these limits keep it from filling the terminal. */
const TYPE_MAX = 40;
const NAME_MAX = 255;

const NOTHING = "-";

/** Column widths are fixed, because lines are printed as they arrive. */
export function createLongListing(terminal: boolean): LongListing {
  const digits = terminal ? TERMINAL_DIGITS : 64;
  const join = ({ address, size, date, type, name }: Columns): string =>
    [
      address.slice(0, digits).padEnd(digits),
      size.padStart(SIZE_WIDTH),
      date.padEnd(DATE_WIDTH),
      type.padEnd(TYPE_WIDTH),
      name,
    ].join("  ");
  let header = terminal
    ? `${join({ address: "ADDRESS", size: "SIZE", date: "DATE", type: "TYPE", name: "NAME" })}\n`
    : "";
  return {
    line(columns) {
      const lines = header + join(columns);
      header = "";
      return lines;
    },
  };
}

type ListedBlob = Exclude<ScannedBlob, { readonly kind: "failed" }>;

/** The cells for a blob; descriptions that are not names are in parentheses. */
export function columnsOf(blob: ListedBlob): Columns {
  const { address, size, storedAt } = blob;
  const outside = { address, size: roundBytes(size), date: dateOf(storedAt), type: NOTHING };
  if (blob.kind === "child") return { ...outside, name: "(a chunk)" };
  if (blob.kind === "closed") {
    return { ...outside, name: `(for ${count(blob.recipients, "other")})` };
  }
  const { stat } = blob;
  const { name, type, mtime } = stat.metadata;
  return {
    address,
    size: roundBytes(stat.size),
    date: dateOf(typeof mtime === "number" ? mtime : storedAt),
    type: textOf(type, TYPE_MAX),
    name: textOf(name, NAME_MAX),
  };
}

/** The JSON for a blob. */
export function jsonOf(blob: ListedBlob): unknown {
  const { address, size, storedAt, kind } = blob;
  const stored = storedAt === undefined ? {} : { storedAt };
  switch (kind) {
    case "opened":
      return { kind: "root", opened: true, ...blob.stat, ...stored };
    case "closed":
      return {
        kind: "root",
        opened: false,
        address,
        recipients: blob.recipients,
        storedBytes: size,
        ...stored,
      };
    case "child":
      return { kind, address, storedBytes: size, ...stored };
    default:
      return blob satisfies never;
  }
}

function textOf(value: unknown, max: number): string {
  if (typeof value !== "string" || value === "") return NOTHING;
  return foreign(value, max);
}

/** In local time: `2026-05-04 12:00`. */
function dateOf(milliseconds: number | undefined): string {
  const date = new Date(milliseconds ?? Number.NaN);
  const year = date.getFullYear();
  if (Number.isNaN(year) || year > 9999) return NOTHING;
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${String(year).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
