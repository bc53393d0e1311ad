import type { ErrorCode } from "@idk/storage";

/**
 * What a failure is called in `--json`: the library's codes, and two that only a program has.
 *
 * - `output`      the result could not be written
 * - `unexpected`  a bug, or a system in a state nobody thought of
 */
export type FailureCode = ErrorCode | "output" | "unexpected";

/** The exit codes of `idk`. They are part of its interface: scripts branch on them. */
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
  permission: 6,
  unavailable: 6,
  aborted: 130,
};

/** As a shell reports a program that a closed pipe ended: 128 + SIGPIPE. */
export const BROKEN_PIPE_EXIT_CODE = 141;

const BY_SEVERITY: readonly number[] = [1, 5, 3, 6, 4, 2];

/** Of several failures in one run, the one whose exit code the run gets. */
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
