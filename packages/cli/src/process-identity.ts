import { readFileSync } from "node:fs";

/**
 * Names a process so that one which comes later under the same number has another name.
 *
 * @returns undefined where there is no such process, or it has ended and only waits to be collected
 */
export function processIdentity(pid: number): string | undefined {
  if (!hasProc) return answers(pid) ? `${pid}` : undefined;
  const stat = statOf(pid);
  return stat === undefined || "ZX".includes(stat.state) ? undefined : `${pid}-${stat.startTime}`;
}

/** Whether the process with this identity still runs. */
export function isRunning(identity: string): boolean {
  return processIdentity(Number.parseInt(identity, 10)) === identity;
}

const hasProc = statOf(process.pid) !== undefined;

/** See proc_pid_stat(5): the command's name, in brackets, may hold any character. */
function statOf(pid: number): { state: string; startTime: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, startTime] = [fields[0], fields[19]];
    return state === undefined || startTime === undefined ? undefined : { state, startTime };
  } catch {
    return undefined;
  }
}

/** A process of somebody else's, which may not be asked, is not one of this program's. */
function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
