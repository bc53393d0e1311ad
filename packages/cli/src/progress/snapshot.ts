/** The progress of a command at one moment. */
export interface Snapshot {
  /** The command, such as `put`. */
  readonly command: string;
  /** The item it works on, if it is a single one. */
  readonly name?: string | undefined;
  /** The name of its items, if there are several. */
  readonly noun?: string | undefined;
  readonly elapsedMs: number;
  /** Bytes processed so far, and the total if it is known. */
  readonly bytes: number;
  readonly totalBytes?: number | undefined;
  readonly chunks: number;
  /** Of these bytes, those that were not stored before; undefined if the command does not tell. */
  readonly newBytes?: number | undefined;
  /** Items that have succeeded or failed, and the total if it is known. */
  readonly items: number;
  readonly totalItems?: number | undefined;
  /** Retried requests. */
  readonly retries: number;
  /** Over the last seconds. */
  readonly bytesPerSecond: number;
}

/** From 0 to 1, by bytes or else by items; undefined if the total is unknown. */
export function fractionOf(state: Snapshot): number | undefined {
  const { bytes, totalBytes, items, totalItems } = state;
  const [done, total] = totalBytes === undefined ? [items, totalItems] : [bytes, totalBytes];
  // Files and stores can grow: the total is then wrong.
  if (total === undefined || total === 0 || done > total) return undefined;
  return done / total;
}

/** Undefined if the total is unknown or nothing moves. */
export function secondsLeft(state: Snapshot): number | undefined {
  const fraction = fractionOf(state);
  if (fraction === undefined) return undefined;
  const { bytes, totalBytes, bytesPerSecond, elapsedMs } = state;
  if (totalBytes !== undefined) {
    return bytesPerSecond > 0 ? (totalBytes - bytes) / bytesPerSecond : undefined;
  }
  return fraction > 0 ? (elapsedMs / 1000) * (1 / fraction - 1) : undefined;
}

/** Displays progress to people or programs. */
export interface ProgressView {
  show(state: Snapshot): void;
  /** Erases what it has drawn. */
  end(): void;
}

/** The delay of the first display and the interval after it, in milliseconds. */
export interface Pace {
  readonly firstMs: number;
  readonly everyMs: number;
}
