import type { ScannedBlob } from "@idk/storage";
import { count, foreign, roundBytes } from "../../output/text.ts";
import { DIGITS_TO_ACT } from "../address.ts";
import { dateOf, sizeOf } from "./filter.ts";
import { pathOf } from "../content-path.ts";

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
const PATH_MAX = 512;

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
    ? `${join({ address: "ADDRESS", size: "SIZE", date: "DATE", type: "TYPE", name: "PATH" })}\n`
    : "";
  return {
    line(columns) {
      const lines = header + join(columns);
      header = "";
      return lines;
    },
  };
}

export type ListedBlob = Exclude<ScannedBlob, { readonly kind: "failed" }>;

/** The cells for a blob; descriptions that are not names are in parentheses. */
export function columnsOf(blob: ListedBlob): Columns {
  const { address } = blob;
  const outside = {
    address,
    size: roundBytes(sizeOf(blob)),
    date: dateText(dateOf(blob)),
    type: NOTHING,
  };
  if (blob.kind === "child") return { ...outside, name: "(a chunk)" };
  if (blob.kind === "closed") {
    return { ...outside, name: `(for ${count(blob.recipients, "other")})` };
  }
  const { metadata } = blob.stat;
  const path = pathOf(metadata);
  const max = path === metadata.name ? NAME_MAX : PATH_MAX;
  return { ...outside, type: textOf(metadata.type, TYPE_MAX), name: textOf(path, max) };
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
function dateText(milliseconds: number | undefined): string {
  const date = new Date(milliseconds ?? Number.NaN);
  const year = date.getFullYear();
  if (Number.isNaN(year) || year > 9999) return NOTHING;
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${String(year).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
