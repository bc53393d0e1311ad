import type { Environment } from "../invocation.ts";
import type { Output } from "../output/output.ts";
import type { Screen } from "../output/screen.ts";
import { standardError } from "../output/standard-streams.ts";
import type { Pace, Presenter } from "./snapshot.ts";
import { plainLine, progressEvent } from "./words.ts";

export interface ProgressChoice {
  readonly quiet: boolean;
  /** What `--progress` and `--no-progress` say. */
  readonly progress: boolean | undefined;
}

/** How progress is told, and when; undefined where it is not. */
export interface Display extends Pace {
  /** Loads and makes what tells it: a command that is done before pays for nothing. */
  readonly open: () => Promise<Presenter>;
}

export function displayFor(
  { quiet, progress }: ProgressChoice,
  out: Output,
  screen: Screen,
  env: Environment,
): Display | undefined {
  if (quiet || progress === false) return undefined;
  const asked = progress === true;
  if (out.json) {
    const open = async () => said((state) => out.event(progressEvent(state)));
    return { firstMs: asked ? 500 : 2000, everyMs: 1000, open };
  }
  if (standardError().terminal && env["TERM"] !== "dumb") {
    const open = async () => (await import("./bar.ts")).createBar(process.stderr, screen, env);
    return { firstMs: 500, everyMs: 100, open };
  }
  const open = async () => said((state) => out.note(`idk: ${plainLine(state)}`));
  return asked ? { firstMs: 500, everyMs: 1000, open } : { firstMs: 10_000, everyMs: 10_000, open };
}

/** What is said once stays said. */
function said(say: (...state: Parameters<Presenter["show"]>) => Promise<void>): Presenter {
  return { show: (state) => void say(state), end() {} };
}
