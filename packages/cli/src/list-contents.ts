import { Failure, codeOf } from "./failures.ts";
import { columnsOf, createLongListing, jsonOf } from "./long-listing.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import type { Session } from "./session.ts";
import type { Store } from "@idk/storage";
import { count } from "./text.ts";
import { createListFailures } from "./item-failures.ts";
import { formatBytes } from "./sizes.ts";

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
  using meter = session.progress.begin({ command: "ls", noun: "blob" });
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
