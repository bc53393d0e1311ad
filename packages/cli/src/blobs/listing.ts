import type { ScannedBlob, Store } from "@idk/storage";
import { codeOf, EXIT_CODES, Failure } from "../errors/failures.ts";
import { createListFailures } from "../errors/item-failures.ts";
import { count, formatBytes, printable, roundBytes } from "../output/text.ts";
import type { Session } from "../session.ts";

/** Failures of the store in a row after which it is given up: as many as are looked at together. */
const FAILURES_MAX = 16;

/**
 * Prints a line for each content that the identities open, as they are found.
 *
 * @param options with `all` also a line for each other blob; otherwise these are counted
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
      // It was listed, and somebody removed it before its turn.
      if (code === "not-found") continue;
      await failures.add(blob.address, blob.error);
      refusals = EXIT_CODES[code] === EXIT_CODES.unavailable ? refusals + 1 : 0;
      if (refusals < FAILURES_MAX) continue;
      throw new Failure(code, `gave up: the store failed ${refusals} blobs in a row`);
    }
    refusals = 0;
    sum[blob.kind] += 1;
    if (blob.kind === "opened") sum.bytes += blob.stat.size;
    else if (!all) continue;
    await out.result(listing.line(columnsOf(blob)), jsonOf(blob));
    // People read along.
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
    ...(sum.closed > 0 ? [`${count(sum.closed, "root")} for others`] : []),
    ...(sum.child > 0 ? [count(sum.child, "chunk")] : []),
  ].join(" and ");
  const left = rest === "" ? "" : `; besides ${rest}${all ? "" : " (--all lists them, too)"}`;
  return `${count(sum.opened, "content")}, ${formatBytes(sum.bytes)}${left}`;
}

/** What a line says. */
interface Columns {
  readonly address: string;
  readonly size: string;
  readonly date: string;
  readonly type: string;
  readonly name: string;
}

/** Lines of a listing, whose columns stand below each other. */
export interface LongListing {
  line(columns: Columns): string;
}

/** Enough to find a blob among as many as there will ever be, and short enough for a terminal. */
const SHOWN_DIGITS = 16;
const SIZE_WIDTH = 10;
const DATE_WIDTH = 16;
const TYPE_WIDTH = 16;

/** Whoever wrote the metadata decides how long it is, and not how much of a terminal it fills. */
const TYPE_MAX = 40;
const NAME_MAX = 255;

const NOTHING = "-";

/** Widths are the same from the first line to the last, for lines are printed as they come. */
export function createLongListing(terminal: boolean): LongListing {
  const digits = terminal ? SHOWN_DIGITS : 64;
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

type Shown = Exclude<ScannedBlob, { readonly kind: "failed" }>;

/** What people want to know of a blob; what is not content stands in parentheses. */
export function columnsOf(blob: Shown): Columns {
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

/** The same for programs. */
export function jsonOf(blob: Shown): unknown {
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
  const text = printable(value);
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

/** In the time zone of whoever looks: `2026-05-04 12:00`. */
function dateOf(milliseconds: number | undefined): string {
  const date = new Date(milliseconds ?? Number.NaN);
  const year = date.getFullYear();
  if (Number.isNaN(year) || year > 9999) return NOTHING;
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${String(year).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
