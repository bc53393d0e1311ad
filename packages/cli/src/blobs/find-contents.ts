import type { Address, Store } from "@idk/storage";
import { codeOf, Failure } from "../errors/failures.ts";
import { count, foreign } from "../output/text.ts";
import type { Session } from "../session.ts";
import type { Listed } from "./address-list.ts";
import { isPattern, pathMatcher, pathOf, samePath } from "./content-path.ts";
import { createRefusals } from "./run-many.ts";

/**
 * Finds the contents that the identities open by their stored paths, which takes as long as
 * `idk ls --long`.
 *
 * @param patterns paths or patterns; see `pathMatcher`
 * @returns in the order of paths, so that each run gives files the same names; then the patterns that
 *   match nothing, and with them the blobs that cannot be read, which otherwise are only noted
 * @throws Failure if the store fails many blobs in a row
 */
export async function findContents(
  opened: Pick<Store, "scan">,
  patterns: readonly string[],
  session: Session,
): Promise<Listed[]> {
  const { out, signal } = session;
  const matchers = await Promise.all(patterns.map(pathMatcher));
  const matched = new Set<number>();
  const found: Found[] = [];
  const failed: Listed[] = [];
  const refusals = createRefusals("blob");
  using meter = session.progress.start({ command: "get", noun: "blob" });
  for await (const blob of opened.scan({ signal })) {
    meter.itemDone();
    if (blob.kind === "failed") {
      const code = codeOf(blob.error);
      // Removed since it was listed.
      if (code === "not-found") continue;
      failed.push({ given: blob.address, error: blob.error });
      refusals.add(code);
      continue;
    }
    refusals.add(undefined);
    const path = blob.kind === "opened" ? pathOf(blob.stat.metadata) : undefined;
    if (path === undefined) continue;
    const hits = matchers.flatMap((matches, at) => (matches(path) ? [at] : []));
    for (const at of hits) matched.add(at);
    if (hits.length > 0) found.push({ path, address: blob.address });
  }
  meter.finish();
  const sorted = found.toSorted(byPath);
  const unmatched = patterns.filter((_, at) => !matched.has(at));
  if (!out.json) {
    for (const pattern of patterns) await noteSame(pattern, sorted, session);
    if (failed.length > 0 && unmatched.length === 0) {
      await out.note(
        `idk: note: ${count(failed.length, "blob")} could not be read and may have this path: ` +
          "`idk ls --long` lists them",
      );
    }
  }
  return [
    ...sorted.map(({ address }) => ({ given: address, address })),
    ...unmatched.map((given) => ({ given, error: nothingFound(given) })),
    ...(unmatched.length > 0 ? failed : []),
  ];
}

interface Found {
  readonly path: string;
  readonly address: Address;
}

const SAME_MAX = 8;

/** Notes that a path stands for several contents, such as one that was stored again. */
async function noteSame(
  pattern: string,
  found: readonly Found[],
  { out }: Pick<Session, "out">,
): Promise<void> {
  if (isPattern(pattern)) return;
  const same = found.filter(({ path }) => samePath(path, pattern));
  if (same.length < 2) return;
  const more = same.length > SAME_MAX ? `, and ${same.length - SAME_MAX} more` : "";
  const addresses = same.slice(0, SAME_MAX).map(({ address }) => address);
  await out.note(
    `idk: note: ${same.length} contents have the path ${foreign(pattern)}: ${addresses.join(", ")}${more}`,
  );
}

/** By code units, so that the order does not depend on the locale. */
function byPath(a: Found, b: Found): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.address < b.address ? -1 : 1;
}

function nothingFound(pattern: string): Failure {
  return new Failure(
    "not-found",
    `no content has the path ${pattern}: \`idk ls --long\` lists the paths that your identities open`,
  );
}
