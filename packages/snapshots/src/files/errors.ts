import { constants } from "node:os";

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.errno).map(([name, number]) => [number, name]),
);

/** A call to the file system that failed. */
export class FileError extends Error {
  override readonly name = "FileError";
  /** As the runtime's own errors have it, such as `ENOENT`; `ENOTSUP` if this host has no such call. */
  readonly code: string;
  readonly syscall: string;

  constructor(code: string, syscall: string) {
    super(`${syscall} failed: ${code}`);
    this.code = code;
    this.syscall = syscall;
  }
}

/** The error for a number that a call left in `errno`. */
export function errorOf(errno: number, syscall: string): FileError {
  return new FileError(NAMES.get(errno) ?? "EIO", syscall);
}

/** Whether an error is of a call to the system, and not of the program or its database. */
export function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/u.test(codeOf(error) ?? "");
}

/** The code of an error, whether ours or the runtime's. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}
