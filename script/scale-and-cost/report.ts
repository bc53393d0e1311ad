/** The tables of the design document on scale and cost. */
import { CHUNK_LOG2_DEFAULT } from "@idk/storage/format";
import {
  type Content,
  type Scenario,
  cost,
  fleet,
  footprint,
  listing,
  totals,
  workingMemory,
} from "./model.ts";
import { B2, type PriceList, S3 } from "./prices.ts";

/** Assumptions of the tables. */
const ASSUMED = {
  /** Seconds per page of a listing, typical for a remote store. */
  listLatency: 0.1,
  /** Prefixes listed in parallel: two hex digits. */
  prefixes: 256,
  /** Bytes per second of one writer or reader: nearly a gigabit line. */
  memberRate: 100e6,
  /** Days to put or read everything. */
  days: 30,
  /** Chunks in flight: the default of the library. */
  concurrency: 4,
} as const;

const CONTENTS: readonly (Content & { readonly name: string })[] = [
  { name: "4 KiB", length: 4096 },
  { name: "1 MB", length: 1e6 },
  { name: "1 GB", length: 1e9 },
  { name: "200 GB", length: 200e9 },
  { name: "1 TB", length: 1e12 },
  { name: "1 PB", length: 1e15 },
  { name: "1 PB, chunks of 16 MiB", length: 1e15, chunkLog2: 24 },
];

const SCENARIOS: readonly Scenario[] = [
  { name: "10⁹ × 4 KiB", objects: 1e9, content: { length: 4096 } },
  { name: "10⁹ × 1 MB", objects: 1e9, content: { length: 1e6 } },
  { name: "10⁶ × 1 GB", objects: 1e6, content: { length: 1e9 } },
  { name: "10³ × 1 TB", objects: 1e3, content: { length: 1e12 } },
  { name: "1 × 1 PB", objects: 1, content: { length: 1e15 } },
];

/** The Markdown between the markers in docs/design.md. */
export function scalingReport(): string {
  const { listLatency, prefixes, memberRate, days, concurrency } = ASSUMED;
  const contents = CONTENTS.map(({ name, ...content }) => {
    const one = footprint(content);
    const overhead = one.storedBytes - one.paddingBytes - content.length;
    const memory = workingMemory(concurrency, content.chunkLog2 ?? CHUNK_LOG2_DEFAULT, one.depth);
    return [
      name,
      String(one.depth),
      count(one.leaves),
      count(one.nodes),
      bytes(one.rootBytes),
      one.largestNodeBytes === 0 ? "–" : bytes(one.largestNodeBytes),
      percent(overhead / content.length),
      percent(one.paddingBytes / content.length),
      count(one.blobs),
      String(one.rangeRequests),
      one.depth === 0 ? "–" : bytes(memory),
    ];
  });
  const stores = SCENARIOS.map((scenario) => {
    const all = totals(scenario);
    const one = listing(all.blobs, 1, listLatency);
    const many = listing(all.blobs, prefixes, listLatency);
    return [
      scenario.name,
      bytes(all.storedBytes),
      count(all.blobs),
      count(one.pages),
      duration(one.seconds),
      duration(many.seconds),
      bytes(all.addressBytes),
    ];
  });
  const costs = SCENARIOS.map((scenario) => {
    const [s3, b2] = [S3, B2].map((prices) => cost(totals(scenario), prices));
    return [
      scenario.name,
      ...[s3!.put, s3!.storageMonth, s3!.read, s3!.list].map(dollars),
      ...[b2!.put, b2!.storageMonth, b2!.read, b2!.list].map(dollars),
    ];
  });
  const fleets = SCENARIOS.map((scenario) => {
    const [s3, b2] = [S3, B2].map((prices) =>
      fleet(totals(scenario), days * 86_400, memberRate, prices),
    );
    // One content is written by one put, but can be read by ranges in parallel.
    const writers = Math.min(s3!.members, scenario.objects);
    const needed = totals(scenario).storedBytes / (writers * memberRate);
    return [
      scenario.name,
      `${count(s3!.bytesPerSecond / 1e6)} MB/s`,
      `${count(s3!.requestsPerSecond)}/s`,
      writers === s3!.members ? String(writers) : `${writers}, in ${duration(needed)}`,
      String(s3!.members),
      `${percent(s3!.putShare)}, ${percent(s3!.getShare)}`,
      `${percent(b2!.putShare)}, ${percent(b2!.getShare)}`,
    ];
  });

  return [
    "One content, one recipient, padded:",
    table(
      "content | levels | leaves | nodes | root | largest node | overhead | padding | PUTs of a put, GETs of a get | GETs of a range | memory",
      contents,
    ),
    `A whole store. A page of a listing has 1,000 names and is assumed to take ${listLatency * 1000} ms; names are hashes, so that ${prefixes} prefixes can be listed side by side:`,
    table(
      `contents | stored | blobs | LIST requests | one after the other | by ${prefixes} prefixes | addresses to keep`,
      stores,
    ),
    `In dollars, by list prices (${[S3, B2].map(source).join("; ")}), without free allowances below a terabyte. Sending bytes in is free at both. To read is to fetch everything once over the internet; B2 asks nothing for three times what is stored:`,
    table("contents | S3: put | month | read | list | B2: put | month | read | list", costs),
    `Within ${days} days, by members that move ${memberRate / 1e6} MB/s each. The shares are of what the providers document as their rates: ${[S3, B2].map(rates).join("; ")}:`,
    table(
      "contents | together | requests | writers | readers | S3: share of PUTs, of GETs | B2: share of PUTs, of GETs",
      fleets,
    ),
  ].join("\n\n");
}

function source({ name, page, compared }: PriceList): string {
  return `[${name}](${page}), ${compared}`;
}

function rates({ name, rate }: PriceList): string {
  const { put, get, per } = rate;
  return `${name.split(",")[0]}, ${count(put)} PUTs and ${count(get)} GETs a second for each ${per}`;
}

/** A table as the formatter of this repository lays it out. */
function table(head: string, rows: readonly (readonly string[])[]): string {
  const cells = [head.split(" | "), ...rows];
  const widths = cells[0]!.map((_, i) => Math.max(3, ...cells.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  const [first, ...rest] = cells.map(line);
  return [first, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rest].join("\n");
}

function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let [scaled, unit] = [value, 0];
  while (scaled >= 999.5 && unit < units.length - 1) [scaled, unit] = [scaled / 1000, unit + 1];
  return `${scaled.toLocaleString("en-US", { maximumSignificantDigits: 3 })} ${units[unit]}`;
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString("en-US", { maximumSignificantDigits: 2 })} %`;
}

function duration(seconds: number): string {
  const units = [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
  ] as const;
  const [name, length] = units.find(([, length]) => seconds >= 2 * length) ?? ["s", 1];
  return `${(seconds / length).toLocaleString("en-US", { maximumSignificantDigits: 2 })} ${name}`;
}

function dollars(value: number): string {
  if (value === 0) return "0";
  return value.toLocaleString(
    "en-US",
    value < 1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 },
  );
}

const BEGIN = "<!-- bun script/scale-and-cost/main.ts --write -->\n";
const END = "\n<!-- end -->";

/**
 * Replaces the text between the markers of a document with the report.
 *
 * @throws Error if a marker is missing
 */
export function withReport(document: string, report: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error("the document has no markers for the tables");
  return `${document.slice(0, begin)}${BEGIN}\n${report}\n${document.slice(end)}`;
}
