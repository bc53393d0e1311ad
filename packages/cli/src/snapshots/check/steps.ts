import { type CheckProblem, isHarmless, type ProblemCounts } from "@idk/snapshots";

/** What `idk check` has found, as far as it decides what to do next. */
export interface Findings {
  add(problem: CheckProblem): void;
  /** How many problems there are of each kind that occurs. */
  readonly counts: ReadonlyMap<Kind, number>;
  /** Whether the only problem is that the identities do not open something. */
  readonly isOnlyClosed: boolean;
  /** Problems by their kinds, such as `1 head and 2 files`; empty if there is none. */
  summary(): string;
  /** What to do about them, one sentence for each. */
  steps(): string[];
}

/** `closed`: not for these identities, whatever it is. */
export type Kind = keyof ProblemCounts | "closed";

const KINDS: readonly (readonly [kind: Kind, one: string, several: string])[] = [
  ["fork", "fork of the settings", "forks of the settings"],
  ["head", "head that does not count", "heads that do not count"],
  ["record", "record that cannot be read", "records that cannot be read"],
  ["key", "session key that is damaged", "session keys that are damaged"],
  ["reach", "list that lacks packs", "lists that lack packs"],
  ["part", "unfinished backup that lacks packs", "unfinished backups that lack packs"],
  ["tree", "folder that cannot be read", "folders that cannot be read"],
  ["pack", "missing or damaged pack", "missing or damaged packs"],
  ["file", "file in such packs", "files in such packs"],
  ["closed", "record that is not for your identities", "records that are not for your identities"],
];

/** What an owner looks at who cannot open something. */
export const CLOSED_TO_OWNER =
  "a host whose `recipients` lack yours makes snapshots that you cannot open: look at its configuration";

/** Whether it was sealed for other recipients, as what was stored before someone became a reader. */
export function isClosed(problem: CheckProblem): boolean {
  return "error" in problem && problem.error.code === "no-match";
}

/** Numbers of problems in words; empty if there is none. */
export function problemsText(counts: ReadonlyMap<Kind, number>): string {
  const parts = KINDS.flatMap(([kind, one, several]) => {
    const amount = counts.get(kind) ?? 0;
    return amount === 0 ? [] : [`${amount} ${amount === 1 ? one : several}`];
  });
  const last = parts.pop() ?? "";
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/**
 * Collects problems. What is harmless is not counted.
 *
 * @param isOwner whether an identity is the owner's, whom nobody else can help
 */
export function findings({ isOwner }: { readonly isOwner: boolean }): Findings {
  const counts = new Map<Kind, number>();
  let isDamageThere = false;
  const has = (...kinds: readonly Kind[]) => kinds.some((kind) => counts.has(kind));
  return {
    counts,
    get isOnlyClosed() {
      return counts.size === 1 && has("closed");
    },
    add(problem) {
      if (isHarmless(problem)) return;
      const kind = isClosed(problem) ? "closed" : problem.kind;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (kind === "closed") return;
      if (problem.kind === "pack" && problem.error.code !== "not-found" && !problem.isDeleted)
        isDamageThere = true;
    },
    summary: () => problemsText(counts),
    steps() {
      return [
        ...(has("fork")
          ? [
              "the owner joins these settings by any change, such as `idk repo grace-period` with the period " +
                "that `idk repo show` prints: then what each of them changed is in force",
            ]
          : []),
        ...(has("head")
          ? [
              "`idk prune` ends at heads that do not count: the owner forgets one with " +
                "`idk forget --head ADDRESS`, or all with `idk forget --refused`",
            ]
          : []),
        ...(isDamageThere
          ? [
              "delete damaged packs with `idk check --read-data --delete-damaged`, or in a store that keeps " +
                "versions the newest version of each with the provider's tools",
            ]
          : []),
        ...(has("pack", "tree", "file")
          ? [
              "on each host, `idk backup --repair` stores again what is still there; " +
                "`idk copy` brings the rest back from a copy of the store",
            ]
          : []),
        ...(has("record")
          ? [
              "`idk copy` brings records back from a copy of the store; without one, make a new " +
                "backup with `idk backup --repair`, and forget the snapshot with `idk forget ADDRESS`",
            ]
          : []),
        ...(has("key")
          ? [
              "on the host that made these snapshots, delete its cache, from which `idk backup` copies session " +
                "keys, and back up again; then forget those whose files `idk check --read-data` cannot read, " +
                "with `idk forget ADDRESS`",
            ]
          : []),
        ...(has("reach")
          ? [
              "`idk prune` may delete what a list lacks: before it, restore what you need of these " +
                "snapshots, and make a new backup under each of their names",
            ]
          : []),
        ...(has("part")
          ? ["run the unfinished `idk backup` again: it stores the missing packs again"]
          : []),
        ...(has("closed")
          ? [
              isOwner
                ? `${CLOSED_TO_OWNER}; forget heads that are of no host of yours with ` +
                  "`idk forget --head ADDRESS`, or all heads that do not count with `idk forget --refused`"
                : "run `idk check` with an identity that opens all snapshots, such as the owner's; if nobody " +
                  "has one, the owner forgets these heads with `idk forget --head ADDRESS`",
            ]
          : []),
      ];
    },
  };
}
