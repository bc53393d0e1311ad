/** The least time of an operation, from its parts measured alone, and what the rest of its time is. */

/** What one part takes if nothing else runs. Seconds. */
export interface Part {
  readonly seconds: number;
  /** User and system time of the process that does it. */
  readonly cpuSeconds: number;
  /** CPU time of the whole machine, which includes a store that runs on it. */
  readonly busySeconds: number;
}

export type Kind = "processor" | "store" | "disk";

export interface Cores {
  /** Those that the process may use. */
  readonly own: number;
  /** Those of the machine, if the store runs on it, and has to share them with the process. */
  readonly shared?: number | undefined;
}

export interface Bound {
  readonly seconds: number;
  /** What an operation waits for that takes no longer. */
  readonly by: string;
}

/**
 * The time of an operation all of whose parts overlap, except where two need the same thing: requests to the
 * store follow each other as fast as bare ones, so do calls of the file system, and no core does two things
 * at once. Nothing that does these parts can be faster.
 */
export function boundOf(
  parts: readonly (Part & { readonly kind: Kind })[],
  { own, shared }: Cores,
): Bound {
  const sum = (of: keyof Part, kind?: Kind): number =>
    parts.reduce((all, part) => all + (kind === undefined || part.kind === kind ? part[of] : 0), 0);
  const bounds: Bound[] = [
    { seconds: sum("seconds", "store"), by: "the store" },
    { seconds: sum("seconds", "disk"), by: "the disk" },
    { seconds: sum("cpuSeconds") / own, by: "the processor" },
  ];
  if (shared !== undefined) {
    bounds.push({ seconds: sum("busySeconds") / shared, by: "the processors, with the store" });
  }
  return bounds.reduce((most, each) => (each.seconds > most.seconds ? each : most));
}

type Times = Pick<Part, "seconds" | "cpuSeconds">;

/** The parts of the time beyond the bound, in seconds. They add up to it. */
export interface Difference {
  /** What the same operation takes for a content of 1 KiB: start-up, connections, first requests. */
  readonly fixed: number;
  /** CPU time that neither the parts nor the start take, spread over the cores. */
  readonly processor: number;
  /** The rest: parts that wait for each other. */
  readonly waiting: number;
}

/**
 * @param whole the operation
 * @param bound its bound in seconds
 * @param fixed the same operation with next to no content
 * @param cpuSeconds that the parts take together
 * @param own cores that the process may use
 */
export function differenceOf(
  whole: Times,
  bound: number,
  fixed: Times,
  cpuSeconds: number,
  own: number,
): Difference {
  const beyond = Math.max(0, whole.seconds - bound);
  const start = Math.min(beyond, fixed.seconds);
  const more = Math.max(0, whole.cpuSeconds - fixed.cpuSeconds - cpuSeconds) / own;
  const processor = Math.min(beyond - start, more);
  return { fixed: start, processor, waiting: beyond - start - processor };
}
