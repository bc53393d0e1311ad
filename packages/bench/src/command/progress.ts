import { describeStatus } from "../report/outcome.ts";
import type { SuiteResult } from "../report/report.ts";
import { counted } from "../report/units.ts";
import type { Suite } from "../suite.ts";

export interface TextStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const CLEAR = "\r\u001b[K";

/**
 * Prints a line when a suite begins and when it ends. On a terminal, the first line is replaced by the
 * suite's details and then by its outcome; elsewhere, details are printed only if `verbose` is set. No
 * timer redraws anything, because that would disturb the measurements.
 *
 * @param at such as "2/19"
 */
export function beginProgress(
  stream: TextStream,
  verbose: boolean,
  { name, title }: Suite,
  at: string,
): { log: (line: string) => void; end: (result: SuiteResult) => void } {
  const live = stream.isTTY === true && !verbose;
  const start = `${live ? CLEAR : ""}[${at}] ${name}: `;
  const show = (text: string): void => {
    const fitting = (start + text)
      .split("\n", 1)[0]!
      .slice(0, CLEAR.length + (stream.columns ?? 80) - 1);
    stream.write(live ? fitting : `${start}${text}\n`);
  };
  show(title);
  return {
    log: (line) => {
      if (live || verbose) show(line);
    },
    end(result) {
      const missed = result.targets.filter(({ verdict }) => verdict === "missed").length;
      const also = missed === 0 ? "" : `, ${counted(missed, "target")} MISSED`;
      stream.write(`${start}${describeStatus(result)}${also}\n`);
    },
  };
}
