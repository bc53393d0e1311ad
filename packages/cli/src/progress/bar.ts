import type { Presenter } from "./presenter.ts";
import type { Screen } from "./screen.ts";
import type { Environment } from "../session.ts";
import { type BarStyle, barLine } from "./bar-line.ts";
import type { Snapshot } from "./snapshot.ts";
import type { WriteStream } from "node:tty";
import { createLogUpdate } from "log-update";

/** A line at the bottom of the terminal that is drawn again and again. */
export function createBar(terminal: WriteStream, screen: Screen, env: Environment): Presenter {
  const style = styleFor(env);
  // The cursor stays visible: whatever ends the process, there is nothing to put right.
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
    // What was drawn has been wrapped by the terminal, where it has no room any more.
    const rows = Math.ceil(drawn / columnsOf(terminal));
    if (rows > 1) {
      terminal.write(`\u001b[${rows}A\r\u001b[J`);
      update.done();
    }
    draw();
  };
  terminal.on("resize", onResize);
  screen.place({ hide: clear, show: draw });

  return {
    show(next) {
      state = next;
      draw();
    },
    end() {
      terminal.off("resize", onResize);
      screen.place(undefined);
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
