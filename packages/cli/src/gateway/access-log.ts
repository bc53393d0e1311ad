import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../session.ts";

/** Writes lines soon after they come, and never holds up a request. */
export interface AccessLog {
  write(line: string): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

/** Characters that wait for the reader of standard output. Lines beyond them are dropped and counted. */
const WAITING_MAX = 4 * 2 ** 20;
/** Lines within so many ms are written at once, because a write takes a sixth of the time of a HEAD. */
const TOGETHER_MS = 10;

/** The access log on standard output: a line of JSON for each request, with `--quiet`, too. */
export function accessLog({ out }: Session): AccessLog {
  let waiting: string[] = [];
  let length = 0;
  let dropped = 0;
  let writing: Promise<void> | undefined;
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      await sleep(TOGETHER_MS);
      const lines = waiting;
      waiting = [];
      length = 0;
      if (dropped > 0) lines.push(JSON.stringify({ dropped }));
      dropped = 0;
      // If the reader is gone, serving goes on.
      await out.text(`${lines.join("\n")}\n`).catch(() => undefined);
    }
    writing = undefined;
  };
  return {
    write(line) {
      if (length + line.length > WAITING_MAX) {
        dropped += 1;
        return;
      }
      waiting.push(line);
      length += line.length;
      writing ??= writeAll();
    },
    async close() {
      await writing;
    },
  };
}
