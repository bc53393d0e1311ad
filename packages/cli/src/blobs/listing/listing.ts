import type { Store } from "@idk/storage";
import { codeOf } from "../../errors/failures.ts";
import { createListFailures } from "../../errors/item-failures.ts";
import { count, formatBytes } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import { compileFilter, type ContentFilter } from "./filter.ts";
import { pathOf } from "../content-path.ts";
import { createRefusals } from "../run-many.ts";
import { columnsOf, createLongListing, jsonOf, type ListedBlob } from "./text.ts";

export interface ListingOptions extends ContentFilter {
  /** Whether to print other blobs, too, which otherwise are only counted. */
  readonly all: boolean;
}

/**
 * Prints a line for each content that the identities open: for people in the order of paths, so at the
 * end, and as JSON when it is found.
 */
export async function listContents(
  opened: Pick<Store, "scan">,
  { all, ...filter }: ListingOptions,
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  const matches = await compileFilter(filter);
  const failures = createListFailures(session, "blob", "address");
  const sum = { opened: 0, bytes: 0, closed: 0, child: 0, filtered: 0 };
  const lines = createSortedLines(session);
  const refusals = createRefusals("blob");
  using meter = session.progress.start({ command: "ls", noun: "blob" });
  try {
    for await (const blob of opened.scan({ signal })) {
      meter.itemDone();
      if (blob.kind === "failed") {
        const code = codeOf(blob.error);
        // Removed since it was listed.
        if (code === "not-found") continue;
        await failures.add(blob.address, blob.error);
        refusals.add(code);
        continue;
      }
      refusals.add(undefined);
      const isListed = (all || blob.kind === "opened") && matches?.(blob) !== false;
      if (blob.kind === "opened" && !isListed) sum.filtered += 1;
      else sum[blob.kind] += 1;
      if (!isListed) continue;
      if (blob.kind === "opened") sum.bytes += blob.stat.size;
      if (out.json) await out.result("", jsonOf(blob));
      else await lines.add(blob);
    }
  } finally {
    meter.finish();
    // What was found before a failure is valid.
    if (!signal.aborted) await lines.print();
  }
  await out.flush();
  if (!out.json) await out.note(summary(sum, all));
  failures.throwIfAny(sum.opened + sum.filtered + sum.closed + sum.child + failures.count);
}

/**
 * Collects the lines of contents, and prints them in the order of paths; contents without one come
 * last. Prints the lines of other blobs as they arrive, because there may be many.
 */
function createSortedLines({ out }: Pick<Session, "out">): {
  add(blob: ListedBlob): Promise<void>;
  print(): Promise<void>;
} {
  const entries: { readonly key: string; readonly columns: ReturnType<typeof columnsOf> }[] = [];
  const listing = createLongListing(out.terminal);
  return {
    async add(blob) {
      if (blob.kind !== "opened") {
        await out.result(listing.line(columnsOf(blob)), undefined);
        return;
      }
      const path = pathOf(blob.stat.metadata);
      // Metadata can be long, and a beginning is enough to sort by.
      const key = path === undefined ? `1${blob.address}` : `0${path.slice(0, KEY_MAX)}`;
      entries.push({ key, columns: columnsOf(blob) });
    },
    async print() {
      const sorted = entries.toSorted((a, b) => {
        if (a.key !== b.key) return a.key < b.key ? -1 : 1;
        return a.columns.address < b.columns.address ? -1 : 1;
      });
      for (const { columns } of sorted) await out.result(listing.line(columns), undefined);
      await out.flush();
    },
  };
}

/** Characters. */
const KEY_MAX = 1024;

function summary(
  sum: Readonly<Record<"opened" | "bytes" | "closed" | "child" | "filtered", number>>,
  all: boolean,
): string {
  const hidden = [
    ...(sum.closed > 0 ? [`${count(sum.closed, "root")} for other recipients`] : []),
    ...(sum.child > 0 ? [count(sum.child, "chunk")] : []),
  ].join(" and ");
  const left = hidden === "" ? "" : `; and ${hidden}${all ? "" : " (list them with --all)"}`;
  const found =
    sum.filtered === 0
      ? count(sum.opened, "content")
      : `${sum.opened} of ${count(sum.opened + sum.filtered, "content")}`;
  return `${found}, ${formatBytes(sum.bytes)}${left}`;
}
