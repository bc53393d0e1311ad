import { createLogUpdate } from "log-update";
import type { WriteStream } from "node:tty";
import type { Environment } from "../invocation.ts";
import type { Screen } from "../output/screen.ts";
import { printable } from "../output/text.ts";
import { fractionOf, type ProgressView, type Snapshot } from "./snapshot.ts";
import { wordsOf } from "./words.ts";

/** A progress bar, redrawn on the last line of the terminal. */
export function createBar(terminal: WriteStream, screen: Screen, env: Environment): ProgressView {
  const style = styleFor(env);
  // Keep the cursor visible, so that a killed process leaves nothing to restore.
  const update = createLogUpdate(terminal, { showCursor: true });
  let state: Snapshot | undefined;
  let drawn = 0;

  const draw = (): void => {
    if (state === undefined || screen.busy) return;
    // A full line would leave the cursor of some terminals on the next one.
    const line = barLine(state, columnsOf(terminal) - 1, style);
    drawn = Bun.stringWidth(line);
    update(line);
  };
  const clear = (): void => {
    update.clear();
    drawn = 0;
  };
  const onResize = (): void => {
    // A terminal that became narrower has wrapped the line.
    const rows = Math.ceil(drawn / columnsOf(terminal));
    if (rows > 1) {
      terminal.write(`\u001b[${rows}A\r\u001b[J`);
      update.done();
    }
    draw();
  };
  terminal.on("resize", onResize);
  screen.setLine({ hide: clear, show: draw });

  return {
    show(next) {
      state = next;
      draw();
    },
    end() {
      terminal.off("resize", onResize);
      screen.setLine(undefined);
    },
  };
}

function columnsOf(terminal: WriteStream): number {
  return terminal.columns || 80;
}

function styleFor(env: Environment): BarStyle {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  const plain = (env["NO_COLOR"] ?? "") !== "";
  const highlight = plain
    ? (text: string) => text
    : (text: string) => `\u001b[36m${text}\u001b[39m`;
  return /utf-?8/iu.test(locale)
    ? { done: "━", rest: plain ? "·" : "─", cut: "…", highlight }
    : { done: "#", rest: ".", cut: "...", highlight };
}

export interface BarStyle {
  /** The characters of the filled and the empty part, and the mark of a truncated name. */
  readonly done: string;
  readonly rest: string;
  readonly cut: string;
  /** Highlights the filled part. */
  readonly highlight: (text: string) => string;
}

const BAR_MIN = 8;
const BAR_MAX = 32;
const NAME_MAX = 32;
const GAP = "  ";

/**
 * The progress in one line of at most `columns` columns. In a narrow terminal, the least important
 * parts are dropped first.
 */
export function barLine(state: Snapshot, columns: number, style: BarStyle): string {
  const words = wordsOf(state);
  const fraction = fractionOf(state);
  const { percent, bytes, bytesOfTotal, newBytes, rate, left, items, chunks, retries } = words;
  const name = state.name === undefined ? "" : shortened(printable(state.name), style.cut);
  const title = name === "" ? state.command : `${state.command} ${name}`;
  const barred = fraction !== undefined;

  // From the widest to the narrowest.
  const layouts: readonly (readonly [bar: boolean, ...parts: string[]])[] = [
    [barred, title, percent, bytesOfTotal, newBytes, rate, left, items, chunks, retries],
    [barred, title, percent, bytesOfTotal, newBytes, rate, left, items, retries],
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
  const start = filled === 0 ? "" : highlight(done.repeat(filled));
  return start + rest.repeat(width - filled);
}

/** Keeps the end, which is the more informative part of a path. */
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
