import type { SuiteResult } from "../report/report.ts";
import { counted, formatTime } from "../report/units.ts";
import type { Suite } from "../suite.ts";

/** Where texts go, in the order they are given. */
export interface TextStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** What goes on, for people: standard error. */
export interface Progress {
  /** @param at from 1 on */
  begin(suite: Suite, at: number, of: number): void;
  /** A remark of the suite that runs. */
  log(line: string): void;
  end(result: SuiteResult): void;
  /** A line that stays. */
  note(line: string): void;
}

const CLEAR = "\r\u001b[K";

/**
 * A line for each suite, when it begins and when it has ended. On a terminal the first gives way to
 * the second, and shows the last remark meanwhile; elsewhere remarks are lines where they were asked
 * for. Nothing is drawn on a clock, which would run into what is measured.
 */
export function createProgress(stream: TextStream, verbose: boolean): Progress {
  const live = stream.isTTY === true && !verbose;
  let title = "";
  const say = (line: string): void => {
    stream.write(live ? `${CLEAR}${line}\n` : `${line}\n`);
  };
  const show = (line: string): void => {
    const width = (stream.columns ?? 80) - 1;
    stream.write(`${CLEAR}${line.split("\n", 1)[0]!.slice(0, width)}`);
  };
  return {
    begin({ name, title: asks }, at, of) {
      title = `[${at}/${of}] ${name}`;
      const line = `${title}: ${asks}`;
      if (live) show(line);
      else say(line);
    },
    log(line) {
      if (live) show(`${title}: ${line}`);
      else if (verbose) say(`${title}: ${line}`);
    },
    end(result) {
      say(`${title}: ${outcomeOf(result)}`);
    },
    note: say,
  };
}

function outcomeOf({ status, reason, seconds, targets }: SuiteResult): string {
  if (status === "skipped") return `skipped: ${reason}`;
  if (status === "failed") return `FAILED after ${formatTime(seconds)}: ${reason}`;
  const missed = targets.filter(({ met }) => !met).length;
  const words = missed === 0 ? "" : `, ${counted(missed, "target")} MISSED`;
  return `completed in ${formatTime(seconds)}${words}`;
}
