import type { SuiteResult } from "../report/report.ts";
import { counted, formatTime } from "../report/units.ts";
import type { Suite } from "../suite.ts";

/** A stream that writes texts in order. */
export interface TextStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Progress of a run, on standard error. */
export interface Progress {
  /** @param at counted from 1 */
  begin(suite: Suite, at: number, of: number): void;
  /** A detail from the running suite. */
  log(line: string): void;
  end(result: SuiteResult): void;
  /** A line that is always printed. */
  note(line: string): void;
}

const CLEAR = "\r\u001b[K";

/**
 * Prints a line when a suite begins and when it ends. On a terminal, the first line is replaced by the
 * suite's details and then by its outcome; elsewhere, details are printed only if `verbose` is set. No
 * timer redraws anything, because that would disturb the measurements.
 */
export function createProgress(stream: TextStream, verbose: boolean): Progress {
  const live = stream.isTTY === true && !verbose;
  let running = "";
  const note = (line: string): unknown => stream.write(`${live ? CLEAR : ""}${line}\n`);
  const show = (text: string): unknown => {
    const line = `${running}: ${text}`;
    const width = (stream.columns ?? 80) - 1;
    return live ? stream.write(CLEAR + line.split("\n", 1)[0]!.slice(0, width)) : note(line);
  };
  return {
    begin({ name, title }, at, of) {
      running = `[${at}/${of}] ${name}`;
      show(title);
    },
    log: (line) => (live || verbose) && show(line),
    end: (result) => note(`${running}: ${outcomeOf(result)}`),
    note,
  };
}

function outcomeOf({ status, reason, seconds, targets }: SuiteResult): string {
  if (status === "skipped") return `skipped: ${reason}`;
  if (status === "failed") return `FAILED after ${formatTime(seconds)}: ${reason}`;
  const missed = targets.filter(({ verdict }) => verdict === "missed").length;
  return `completed in ${formatTime(seconds)}${missed === 0 ? "" : `, ${counted(missed, "target")} MISSED`}`;
}
