import type { Environment } from "../invocation.ts";
import type { Output } from "../output/output.ts";
import type { Screen } from "../output/screen.ts";
import { standardError } from "../output/standard-streams.ts";
import type { Pace, ProgressView } from "./snapshot.ts";
import { plainLine, progressEvent } from "./words.ts";

export interface ProgressChoice {
  readonly quiet: boolean;
  /** The value of `--progress` and `--no-progress`. */
  readonly progress: boolean | undefined;
}

/** How and when progress is displayed. */
export interface Display extends Pace {
  /** Creates the view. Called, and its code loaded, only when the first display is due. */
  readonly open: () => Promise<ProgressView>;
}

export function displayFor(
  { quiet, progress }: ProgressChoice,
  out: Output,
  screen: Screen,
  env: Environment,
): Display | undefined {
  if (quiet || progress === false) return undefined;
  const requested = progress === true;
  if (out.json) {
    const open = async () => linesView((state) => out.event(progressEvent(state)));
    return { firstMs: requested ? 500 : 2000, everyMs: 1000, open };
  }
  if (standardError().terminal && env["TERM"] !== "dumb") {
    const open = async () => (await import("./bar.ts")).createBar(process.stderr, screen, env);
    return { firstMs: 500, everyMs: 100, open };
  }
  const open = async () => linesView((state) => out.note(`idk: ${plainLine(state)}`));
  return requested
    ? { firstMs: 500, everyMs: 1000, open }
    : { firstMs: 10_000, everyMs: 10_000, open };
}

/** Prints lines or events, which are never erased. */
function linesView(
  print: (...state: Parameters<ProgressView["show"]>) => Promise<void>,
): ProgressView {
  return { show: (state) => void print(state), end() {} };
}
