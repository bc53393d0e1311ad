import { count, foreign, roundBytes } from "../output/text.ts";
import { fractionOf, secondsLeft, type Snapshot } from "./snapshot.ts";

/** `8 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** The parts of a snapshot as text; empty if there is nothing to print. */
export interface Words {
  readonly percent: string;
  readonly bytes: string;
  /** With the total, if it is known. */
  readonly bytesOfTotal: string;
  readonly newBytes: string;
  readonly rate: string;
  readonly left: string;
  readonly items: string;
  readonly chunks: string;
  readonly retries: string;
}

export function wordsOf(state: Snapshot): Words {
  const { bytes, totalBytes, noun, items, totalItems, chunks, retries, newBytes, bytesPerSecond } =
    state;
  const fraction = fractionOf(state);
  const left = secondsLeft(state);
  // Some commands count items only.
  const none = bytes === 0 && totalBytes === undefined && noun !== undefined;
  const done = none ? "" : roundBytes(bytes);
  const of = totalItems === undefined || totalItems < items ? "" : `${items} of `;
  return {
    percent: fraction === undefined ? "" : `${Math.floor(100 * fraction)} %`,
    bytes: done,
    bytesOfTotal:
      totalBytes === undefined || bytes > totalBytes
        ? done
        : `${done} of ${roundBytes(totalBytes)}`,
    newBytes: newBytes === undefined ? "" : `${roundBytes(newBytes)} new`,
    rate: bytesPerSecond > 0 ? `${roundBytes(bytesPerSecond)}/s` : "",
    left: left === undefined ? "" : `${duration(left)} left`,
    items: noun === undefined ? "" : of + count(of === "" ? items : totalItems!, noun),
    chunks: chunks > 0 ? count(chunks, "chunk") : "",
    retries: retries === 0 ? "" : `${retries} ${retries === 1 ? "retry" : "retries"}`,
  };
}

/** One line for a log. */
export function plainLine(state: Snapshot): string {
  const { percent, bytesOfTotal, newBytes, rate, left, items, chunks, retries } = wordsOf(state);
  const parts = [percent, bytesOfTotal, newBytes, items, chunks, rate, left, retries];
  const name = state.name === undefined ? "" : ` ${foreign(state.name)}`;
  return `${state.command}${name}: ${parts.filter((part) => part !== "").join(", ")}`;
}

/** One event for a program. Unknown values are omitted. */
export function progressEvent(state: Snapshot): { readonly progress: object } {
  const left = secondsLeft(state);
  const { command, elapsedMs, bytes, totalBytes, newBytes, chunks, items, totalItems, retries } =
    state;
  return {
    progress: {
      command,
      seconds: Math.round(elapsedMs / 100) / 10,
      bytes,
      ...(totalBytes !== undefined && { totalBytes }),
      ...(newBytes !== undefined && { newBytes }),
      chunks,
      ...(state.noun !== undefined && { items }),
      ...(totalItems !== undefined && { totalItems }),
      retries,
      bytesPerSecond: Math.round(state.bytesPerSecond),
      ...(left !== undefined && { secondsLeft: Math.round(left) }),
    },
  };
}
