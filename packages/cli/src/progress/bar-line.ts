import { type Snapshot, fractionOf } from "./snapshot.ts";
import { printable } from "../text.ts";
import { wordsOf } from "./words.ts";

export interface BarStyle {
  /** Characters of the part that is done and of the rest, and the sign that a name is cut short. */
  readonly done: string;
  readonly rest: string;
  readonly cut: string;
  /** Makes the part that is done stand out. */
  readonly highlight: (text: string) => string;
}

const BAR_MIN = 8;
const BAR_MAX = 32;
const NAME_MAX = 32;
const GAP = "  ";

/**
 * How far a command is, in one line of at most so many columns. Where there is little room, what
 * people miss least goes first.
 */
export function barLine(state: Snapshot, columns: number, style: BarStyle): string {
  const words = wordsOf(state);
  const fraction = fractionOf(state);
  const { percent, bytes, bytesOfTotal, rate, left, items, chunks, retries } = words;
  const name = state.name === undefined ? "" : shortened(printable(state.name), style.cut);
  const title = name === "" ? state.command : `${state.command} ${name}`;
  const barred = fraction !== undefined;

  // From the richest to what the narrowest terminal has room for.
  const layouts: readonly (readonly [bar: boolean, ...parts: string[]])[] = [
    [barred, title, percent, bytesOfTotal, rate, left, items, chunks, retries],
    [barred, title, percent, bytesOfTotal, rate, left, items, retries],
    [barred, title, percent, bytesOfTotal, rate, left, retries],
    [barred, state.command, percent, bytesOfTotal, rate, left],
    [barred, state.command, percent, bytes, rate, left],
    [false, state.command, percent, bytes, rate, left],
    [false, state.command, percent, bytes, left],
    [false, percent || bytes, left],
    [false, percent || bytes],
  ];
  for (const [withBar, ...parts] of layouts) {
    const [first = "", ...others] = parts.filter((part) => part !== "");
    const text = [first, ...others].join(GAP);
    const room = columns - Bun.stringWidth(text);
    if (!withBar) {
      if (room >= 0) return text;
      continue;
    }
    const width = Math.min(BAR_MAX, room - GAP.length);
    if (width < BAR_MIN) continue;
    return [first, bar(fraction!, width, style), ...others].join(GAP);
  }
  return "";
}

function bar(fraction: number, width: number, { done, rest, highlight }: BarStyle): string {
  const filled = Math.floor(fraction * width);
  const begun = filled === 0 ? "" : highlight(done.repeat(filled));
  return begun + rest.repeat(width - filled);
}

/** Its end says more of a path than its beginning. */
function shortened(name: string, cut: string): string {
  if (Bun.stringWidth(name) <= NAME_MAX) return name;
  const room = NAME_MAX - Bun.stringWidth(cut);
  const segments = Array.from(new Intl.Segmenter().segment(name), ({ segment }) => segment);
  let end = "";
  for (const segment of segments.toReversed()) {
    if (Bun.stringWidth(segment + end) > room) break;
    end = segment + end;
  }
  return cut + end;
}
