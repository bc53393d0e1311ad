import type { ErrorCode } from "@idk/storage";
import { foreign, printableMessage } from "../output/text.ts";

/**
 * The error codes in `--json`: those of the library and three more.
 *
 * - `incomplete`  a snapshot was made, but some files could not be read
 * - `output`      the result could not be written
 * - `unexpected`  a bug, or a system error that the program does not handle
 */
export type FailureCode = ErrorCode | "incomplete" | "output" | "unexpected";

/** The exit codes of `idk`. They are part of its interface: scripts depend on them. */
export const EXIT_CODES: Readonly<Record<FailureCode, number>> = {
  unexpected: 1,
  output: 1,
  usage: 2,
  key: 2,
  "not-found": 3,
  "no-match": 4,
  passphrase: 4,
  limit: 5,
  address: 5,
  format: 5,
  commit: 5,
  auth: 5,
  root: 5,
  tree: 5,
  encoding: 5,
  head: 5,
  rollback: 5,
  permission: 6,
  unavailable: 6,
  incomplete: 7,
  aborted: 130,
};

/** 128 + SIGPIPE, as a shell reports it. */
export const BROKEN_PIPE_EXIT_CODE = 141;

/** Whether the store gave no answer, or refused to give one, so that nothing is known of the item. */
export function isUnanswered(code: FailureCode): boolean {
  return EXIT_CODES[code] === EXIT_CODES.unavailable;
}

const BY_SEVERITY: readonly number[] = [1, 5, 3, 6, 4, 2, 7];

/** The code that decides the exit code of a run with several failures. */
export function worstOf(codes: readonly FailureCode[]): FailureCode {
  const [worst] = codes.toSorted((a, b) => severity(a) - severity(b));
  return worst ?? "unexpected";
}

function severity(code: FailureCode): number {
  return BY_SEVERITY.indexOf(EXIT_CODES[code]);
}

export function isFailureCode(code: unknown): code is FailureCode {
  return typeof code === "string" && Object.hasOwn(EXIT_CODES, code);
}

/** A failure detected by the program, as opposed to the library. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** The user has to change the command line, the environment or a file. */
export function usage(message: string, cause?: unknown): Failure {
  return new Failure("usage", message, cause);
}

/** The reader of standard output closed it, which is not reported. */
export class BrokenPipe extends Error {
  override readonly name = "BrokenPipe";
}

/** The reason of the run's signal when a system signal ends the run. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("interrupted");
    this.exitCode = exitCode;
  }
}

/** An error as it is printed. */
export interface Report {
  readonly code: FailureCode;
  /** One line, safe to print. */
  readonly message: string;
  readonly exitCode: number;
  /** Print nothing. */
  readonly silent: boolean;
}

/** @param signal the run's own: its reason distinguishes an interruption from other aborts */
export function reportOf(error: unknown, signal: AbortSignal): Report {
  if (error instanceof BrokenPipe) {
    return { code: "output", message: "", exitCode: BROKEN_PIPE_EXIT_CODE, silent: true };
  }
  // Whatever fails after an interruption fails because of it.
  const interruption = signal.aborted ? signal.reason : error;
  if (interruption instanceof Interruption) {
    const { exitCode, message } = interruption;
    return { code: "aborted", message, exitCode, silent: false };
  }
  const code = codeOf(error);
  const text = messageOf(error);
  const hint = hintFor(error);
  const message = hint === undefined ? text : `${text}: ${hint}`;
  return {
    code,
    message: code === "unexpected" ? unexpected(message) : message,
    exitCode: EXIT_CODES[code],
    silent: false,
  };
}

/**
 * The code of an error. Recognizes the library's class by its name, so that a mistyped command does
 * not have to load the library.
 */
export function codeOf(error: unknown): FailureCode {
  if (!(error instanceof Error) || !("code" in error)) return "unexpected";
  if (!(error instanceof Failure) && error.name !== "StorageError") return "unexpected";
  return isFailureCode(error.code) ? error.code : "unexpected";
}

/** The message of an error in one line, safe to print even if it quotes text from outside. */
export function messageOf(error: unknown): string {
  return printableMessage(error instanceof Error ? error.message : String(error));
}

/** The stacks of an error and its causes, for `IDK_DEBUG=1`. */
export function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let at = error; at !== undefined && stacks.length < 8;) {
    if (!(at instanceof Error)) {
      stacks.push(foreign(Bun.inspect(at)));
      break;
    }
    stacks.push([`${foreign(at.name)}: ${messageOf(at)}`, ...framesOf(at)].join("\n"));
    at = at.cause;
  }
  return stacks.join("\ncaused by: ");
}

/** The calls of a stack. The message above them may contain lines that look like calls. */
function framesOf({ name, message, stack = "" }: Error): string[] {
  const head = `${name}: ${message}`.split("\n").length;
  const calls = stack.split("\n").slice(head);
  return calls.filter((line) => /^\s+at /u.test(line)).map((line) => `    ${foreign(line.trim())}`);
}

function unexpected(message: string): string {
  return `unexpected error: ${message} (set IDK_DEBUG=1 for a stack trace)`;
}

const REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EACCES: "permission denied",
    EBUSY: "it is in use",
    EDQUOT: "disk quota exceeded",
    EEXIST: "it already exists",
    EISDIR: "it is a folder",
    ELOOP: "too many symbolic links",
    EMFILE: "too many open files",
    ENAMETOOLONG: "the name is too long",
    ENOENT: "no such file or folder",
    ENOSPC: "no space left on the device",
    ENOTDIR: "a part of the path is not a folder",
    ENXIO: "no such device",
    EPERM: "operation not permitted",
    EROFS: "the file system is read-only",
  }),
);

/** A system error in words, because Node's messages contain system calls and repeat paths. */
export function reasonOf(error: unknown): string {
  const code = systemCodeOf(error);
  return REASONS.get(code) ?? (code === "" ? messageOf(error) : foreign(code));
}

/** The reason of an error from a library that passes system errors on, too, and explains its own. */
export function reasonOrMessageOf(error: unknown): string {
  const isSystemError = error instanceof Error && "syscall" in error;
  return isSystemError ? reasonOf(error) : messageOf(error);
}

export function systemCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "";
}

/**
 * What to do about an error from a library that does not know the program's URLs, flags and
 * variables. Errors of the AWS SDK are found as causes.
 */
export function hintFor(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.name === "CredentialsProviderError") {
      return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in AWS_PROFILE";
    }
    // The program's own failures contain what to do.
    if ("code" in at && at.code === "no-match" && !(at instanceof Failure)) {
      return "it was stored for other recipients; name another identity with -i";
    }
    if (at.message === "Region is missing") return "region=R in the URL, or AWS_REGION";
  }
  return undefined;
}
