/** Calls of Linux on an open file that Bun does not offer. They help: what lacks them works, too. */
export interface SystemCalls {
  /**
   * Reserves room on the disk for the first bytes of a file, whose length stays as it is.
   *
   * @returns the system's code if there is no room, such as `ENOSPC`; undefined if there is, and if the
   *   file system cannot reserve any
   */
  reserve(fd: number, length: number): string | undefined;
  /** Has the system begin to write this part of the file to the disk, and does not wait for it. */
  startWriting(fd: number, offset: number, length: number): void;
  /**
   * Waits until everything that was written to the file system of an open file is on its disk.
   *
   * @returns whether it is
   */
  syncFileSystem(fd: number): boolean;
  /** Grows the capacity of a pipe to `length` bytes, if it is smaller and the system allows it. */
  widenPipe(fd: number, length: number): void;
}

const SYMBOLS = {
  fallocate: { args: ["i32", "i32", "i64", "i64"], returns: "i32" },
  fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
  syncfs: { args: ["i32"], returns: "i32" },
  sync_file_range: { args: ["i32", "i64", "i64", "u32"], returns: "i32" },
  __errno_location: { args: [], returns: "ptr" },
} as const;

const FALLOC_FL_KEEP_SIZE = 1;
const SYNC_FILE_RANGE_WRITE = 2;
const F_SETPIPE_SZ = 1031;
const F_GETPIPE_SZ = 1032;

/** Why there is no room: too large for the file system, its disk is full, or the user's quota is. */
const NO_ROOM: Readonly<Record<number, string>> = { 27: "EFBIG", 28: "ENOSPC", 122: "EDQUOT" };

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  x64: ["libc.so.6", "libc.musl-x86_64.so.1"],
  arm64: ["libc.so.6", "libc.musl-aarch64.so.1"],
};

/** @returns undefined if this system does not have them */
export async function openSystemCalls(): Promise<SystemCalls | undefined> {
  if (process.platform !== "linux") return undefined;
  // Loaded here, so that short commands do not wait for it. Some systems forbid the code that it makes.
  const ffi = await import("bun:ffi").catch(() => undefined);
  if (ffi === undefined) return undefined;
  const { dlopen, read } = ffi;
  for (const name of LIBRARIES[process.arch] ?? []) {
    try {
      const { symbols: libc } = dlopen(name, SYMBOLS);
      const errno = libc["__errno_location"]()!;
      return {
        reserve(fd, length) {
          if (libc.fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length) === 0) return undefined;
          return NO_ROOM[read.i32(errno, 0)];
        },
        startWriting(fd, offset, length) {
          // The sync at the end reports errors of writing.
          libc.sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
        },
        syncFileSystem: (fd) => libc.syncfs(fd) === 0,
        widenPipe(fd, length) {
          const capacity = libc.fcntl(fd, F_GETPIPE_SZ, 0);
          if (capacity > 0 && capacity < length) libc.fcntl(fd, F_SETPIPE_SZ, length);
        },
      };
    } catch {
      // Another C library.
    }
  }
  return undefined;
}
