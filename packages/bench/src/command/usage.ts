/** An error in the command line, the environment or a file that they name: exit code 2. */
export class Usage extends Error {
  override readonly name = "Usage";
}

/** Ctrl-C or another signal to stop: the reason of the run's abort signal. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  /** 128 plus the number of the signal. */
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("interrupted");
    this.exitCode = exitCode;
  }
}

export const EXIT_CODES = { done: 0, failed: 1, usage: 2, brokenPipe: 141 } as const;

/** The message of an error on one line, never empty. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.trim().replaceAll(/\s*\n\s*/gu, "; ") || "unknown error";
}
