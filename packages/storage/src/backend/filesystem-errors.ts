import { type ErrorCode, StorageError } from "../errors.ts";

interface Meaning {
  readonly code: Extract<ErrorCode, "permission" | "unavailable">;
  readonly transient?: true;
  /** What happened and what to do. */
  readonly says: string;
}

const refused: Meaning = {
  code: "permission",
  says: "access is refused; check the owner and mode of this path and of the folders above it",
};

const full: Meaning = { code: "unavailable", says: "the disk is full; free some space" };

const tooManyFiles: Meaning = {
  code: "unavailable",
  transient: true,
  says: "too many files are open; close some, or raise the limit (ulimit -n)",
};

const busy: Meaning = {
  code: "unavailable",
  transient: true,
  says: "the file system is busy; try again",
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  EACCES: refused,
  EPERM: refused,
  EROFS: { code: "permission", says: "the file system is mounted read-only" },
  ENOSPC: full,
  EDQUOT: { code: "unavailable", says: "the disk is full: your quota is used up; free some space" },
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  EAGAIN: busy,
  EBUSY: busy,
  EINTR: busy,
  ETIMEDOUT: busy,
  ESTALE: {
    code: "unavailable",
    transient: true,
    says: "the network file system lost the file; try again",
  },
  // A failing disk rarely heals within a retry, and each attempt may hang for long.
  EIO: { code: "unavailable", says: "the disk reports an input/output error; check the disk" },
  // Calls to which a missing file is an answer handle it themselves. To the others it happened
  // under their hands.
  ENOENT: {
    code: "unavailable",
    transient: true,
    says: "a file or folder vanished meanwhile; find out what else removes files there, then try again",
  },
  ENOTDIR: {
    code: "unavailable",
    says: "a file stands where a folder is needed; name another folder, or move it away",
  },
  EISDIR: { code: "unavailable", says: "a folder stands where a blob belongs; move it away" },
  ELOOP: { code: "unavailable", says: "a symbolic link stands where a blob belongs; move it away" },
  ENXIO: { code: "unavailable", says: "a socket stands where a blob belongs; move it away" },
};

/**
 * The library's error for what the operating system reported. Errors of the library pass through.
 *
 * @param doing what was attempted and where, to follow "cannot"
 */
export function failure(error: unknown, doing: string): StorageError {
  if (error instanceof StorageError) return error;
  const system = systemCode(error);
  const meaning = system === undefined ? undefined : MEANINGS[system];
  const {
    code,
    says,
    transient = false,
  } = meaning ?? {
    code: "unavailable",
    says: error instanceof Error ? error.message : "of an unknown failure",
  };
  return new StorageError(code, `cannot ${doing}: ${says}`, { cause: error, transient });
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
    `the directory ${directory} does not exist; check the path, or store something to create it`,
    { cause },
  );
}

/** Something that is no regular file has the name of a blob. */
export function notAFile(path: string): StorageError {
  return new StorageError(
    "unavailable",
    `${path} is not a regular file, so it cannot be a blob; move it away`,
  );
}
