import type { Address, Store } from "@idk/storage";
import { codeOf, Failure } from "../errors/failures.ts";
import type { Session } from "../session.ts";
import type { Listed } from "./address-list.ts";
import { pathMatcher, pathOf } from "./content-path.ts";

/**
 * Finds the contents that the identities open by their stored paths, which takes as long as
 * `idk ls --long`.
 *
 * @param patterns paths or patterns; see `pathMatcher`
 * @returns in the order of paths, so that each run gives files the same names; then the patterns that
 *   match nothing, and the blobs that cannot be read
 */
export async function findContents(
  opened: Pick<Store, "scan">,
  patterns: readonly string[],
  session: Session,
): Promise<Listed[]> {
  const { signal } = session;
  const matchers = await Promise.all(patterns.map(pathMatcher));
  const matched = new Set<number>();
  const found: Found[] = [];
  const failed: Listed[] = [];
  using meter = session.progress.start({ command: "get", noun: "blob" });
  for await (const blob of opened.scan({ signal })) {
    meter.itemDone();
    if (blob.kind === "failed" && codeOf(blob.error) !== "not-found") {
      failed.push({ given: blob.address, error: blob.error });
    }
    const path = blob.kind === "opened" ? pathOf(blob.stat.metadata) : undefined;
    if (path === undefined) continue;
    const hits = matchers.flatMap((matches, at) => (matches(path) ? [at] : []));
    for (const at of hits) matched.add(at);
    if (hits.length > 0) found.push({ path, address: blob.address });
  }
  const unmatched = patterns.filter((_, at) => !matched.has(at));
  return [
    ...found.toSorted(byPath).map(({ address }) => ({ given: address, address })),
    ...unmatched.map((given) => ({ given, error: nothingFound(given) })),
    ...failed,
  ];
}

interface Found {
  readonly path: string;
  readonly address: Address;
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
