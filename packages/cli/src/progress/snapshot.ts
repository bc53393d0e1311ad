/** How far a command is. */
export interface Snapshot {
  /** The command, such as `put`. */
  readonly command: string;
  /** What it is at work on, where that is one thing. */
  readonly name?: string | undefined;
  /** What its items are called, where it goes through many. */
  readonly noun?: string | undefined;
  readonly elapsedMs: number;
  /** Bytes handled, and of how many, where that is known. */
  readonly bytes: number;
  readonly totalBytes?: number | undefined;
  readonly chunks: number;
  /** Items that are done or have failed, and of how many. */
  readonly items: number;
  readonly totalItems?: number | undefined;
  /** Requests that had to be made again. */
  readonly retries: number;
  /** Of the last seconds. */
  readonly bytesPerSecond: number;
}

/** From 0 to 1, by bytes or else by items; undefined where nobody knows. */
export function fractionOf(state: Snapshot): number | undefined {
  const { bytes, totalBytes, items, totalItems } = state;
  const [done, total] = totalBytes === undefined ? [items, totalItems] : [bytes, totalBytes];
  // A file may have grown, and a store as well: what is known to be wrong is not shown.
  if (total === undefined || total === 0 || done > total) return undefined;
  return done / total;
}

/** Undefined where nobody knows, or nothing moves. */
export function secondsLeft(state: Snapshot): number | undefined {
  const fraction = fractionOf(state);
  if (fraction === undefined) return undefined;
  const { bytes, totalBytes, bytesPerSecond, elapsedMs } = state;
  if (totalBytes !== undefined) {
    return bytesPerSecond > 0 ? (totalBytes - bytes) / bytesPerSecond : undefined;
  }
  return fraction > 0 ? (elapsedMs / 1000) * (1 / fraction - 1) : undefined;
}

/** Tells people or programs how far a command is. */
export interface Presenter {
  show(state: Snapshot): void;
  /** Leaves nothing on the terminal. */
  end(): void;
}

/** When something is told for the first time, and how often from there; in milliseconds. */
export interface Pace {
  readonly firstMs: number;
  readonly everyMs: number;
}
