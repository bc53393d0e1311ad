import {
  BROKEN_PIPE_EXIT_CODE,
  EXIT_CODES,
  type FailureCode,
  isFailureCode,
} from "./exit-codes.ts";
import { hintFor } from "./hints.ts";
import { printable, redact } from "./text.ts";

/** A failure of the program itself, as the library's errors are failures of storage. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** The command line, the environment or a file it names has to change. */
export function usage(message: string, cause?: unknown): Failure {
  return new Failure("usage", message, cause);
}

/** Who reads our output went away: no failure to talk about. */
export class BrokenPipe extends Error {
  override readonly name = "BrokenPipe";
}

/** Why the run was cut short; the reason of its signal. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("interrupted");
    this.exitCode = exitCode;
  }
}

/** What people and programs get to know of an error. */
export interface Report {
  readonly code: FailureCode;
  /** One line, safe to print. */
  readonly message: string;
  readonly exitCode: number;
  /** Nothing is said at all. */
  readonly silent: boolean;
}

/** @param signal the run's own: its reason tells an interruption from any other abort */
export function reportOf(error: unknown, signal: AbortSignal): Report {
  if (error instanceof BrokenPipe) {
    return { code: "output", message: "", exitCode: BROKEN_PIPE_EXIT_CODE, silent: true };
  }
  // After an interruption whatever fails fails because of it.
  const interruption = signal.aborted ? signal.reason : error;
  if (interruption instanceof Interruption) {
    const { exitCode, message } = interruption;
    return { code: "aborted", message, exitCode, silent: false };
  }
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  const hint = hintFor(error);
  const message = hint === undefined ? said : `${said}: ${hint}`;
  return {
    code,
    message: printable(redact(code === "unexpected" ? unexpected(message) : message)),
    exitCode: EXIT_CODES[code],
    silent: false,
  };
}

/**
 * The code of an error. The library's class is told by its name: loading the library to compare
 * classes would cost every mistyped command.
 */
export function codeOf(error: unknown): FailureCode {
  if (!(error instanceof Error) || !("code" in error)) return "unexpected";
  if (!(error instanceof Failure) && error.name !== "StorageError") return "unexpected";
  return isFailureCode(error.code) ? error.code : "unexpected";
}

/** The stacks of an error and its causes, for `IDK_DEBUG=1`. */
export function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let at = error; at !== undefined && stacks.length < 8;) {
    if (!(at instanceof Error)) {
      stacks.push(Bun.inspect(at));
      break;
    }
    stacks.push(at.stack ?? `${at.name}: ${at.message}`);
    at = at.cause;
  }
  return redact(stacks.join("\ncaused by: "));
}

function unexpected(message: string): string {
  return `unexpected error: ${message} (set IDK_DEBUG=1 to see where it comes from)`;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EBUSY: "it is in use",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it already exists",
  EISDIR: "it is a folder",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "no such file or folder",
  ENOSPC: "no space left on the device",
  ENOTDIR: "a part of the path is not a folder",
  ENXIO: "no such device",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
};

/** A system error in words: Node's own messages name system calls and repeat paths. */
export function reasonOf(error: unknown): string {
  const code = systemCodeOf(error);
  return REASONS[code] ?? (code || (error instanceof Error ? error.message : String(error)));
}

export function systemCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "";
}
