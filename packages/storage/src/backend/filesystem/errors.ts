import { type ErrorCode, StorageError } from "../../errors.ts";
import { foreignCause, foreignText } from "../../text.ts";

interface SystemError {
  readonly code: Extract<ErrorCode, "permission" | "unavailable">;
  readonly transient?: true;
  /** What happened and what to do. */
  readonly explanation: string;
}

const denied: SystemError = {
  code: "permission",
  explanation: "permission denied; check the owner and mode of this path and its parent folders",
};

const full: SystemError = {
  code: "unavailable",
  explanation: "the disk is full; free some space",
};

const tooManyFiles: SystemError = {
  code: "unavailable",
  transient: true,
  explanation: "too many files are open; close some, or raise the limit (ulimit -n)",
};

const busy: SystemError = {
  code: "unavailable",
  transient: true,
  explanation: "the file system is busy; try again",
};

const SYSTEM_ERRORS: ReadonlyMap<string, SystemError> = new Map(
  Object.entries({
    EACCES: denied,
    EPERM: denied,
    EROFS: { code: "permission", explanation: "the file system is mounted read-only" },
    ENOSPC: full,
    EDQUOT: {
      code: "unavailable",
      explanation: "the disk quota is used up; free some space",
    },
    EMFILE: tooManyFiles,
    ENFILE: tooManyFiles,
    EAGAIN: busy,
    EBUSY: busy,
    EINTR: busy,
    ETIMEDOUT: busy,
    ESTALE: {
      code: "unavailable",
      transient: true,
      explanation: "the network file system lost the file; try again",
    },
    // Not transient: a failing disk rarely recovers within a retry, and each attempt may hang.
    EIO: {
      code: "unavailable",
      explanation: "the disk reports an input/output error; check the disk",
    },
    // Calls that expect a missing file handle it themselves. For the others, the file was deleted
    // during the call.
    ENOENT: {
      code: "unavailable",
      transient: true,
      explanation:
        "a file or folder was deleted during the operation; find out what else deletes files there, then try again",
    },
    ENOTDIR: {
      code: "unavailable",
      explanation: "a parent of this path is a file; choose another folder, or move the file away",
    },
    EISDIR: {
      code: "unavailable",
      explanation: "there is a folder in place of the blob; move it away",
    },
    ELOOP: {
      code: "unavailable",
      explanation: "there is a symbolic link in place of the blob; move it away",
    },
    ENXIO: {
      code: "unavailable",
      explanation: "there is a socket in place of the blob; move it away",
    },
  }),
);

/**
 * Converts an error of the operating system. Errors of the library pass through.
 *
 * @param action what was attempted and on what, to follow "cannot"
 */
export function systemError(error: unknown, action: string): StorageError {
  if (error instanceof StorageError) return error;
  const known = SYSTEM_ERRORS.get(systemCode(error) ?? "");
  const {
    code,
    explanation,
    transient = false,
  } = known ?? {
    code: "unavailable",
    explanation: error instanceof Error ? foreignText(error.message) : "unknown error",
  };
  return new StorageError(code, `cannot ${action}: ${explanation}`, {
    // Contains a path, and names in the folder may have been chosen by others.
    cause: foreignCause(error),
    transient,
  });
}

/** The name of a system error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The store itself is missing: a mistyped path must not look like an empty store. */
export function noDirectory(directory: string, cause: unknown): StorageError {
  return new StorageError(
    "unavailable",
    `the folder ${directory} does not exist; check the path, or store something to create it`,
    { cause },
  );
}

/** A blob's name belongs to something other than a regular file. */
export function notAFile(path: string): StorageError {
  return new StorageError(
    "unavailable",
    `${path} is not a regular file, so it cannot be a blob; move it away`,
  );
}
