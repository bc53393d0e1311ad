import type { Snapshot } from "./snapshot.ts";

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
