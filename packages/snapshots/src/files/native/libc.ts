import { CString, type Pointer, dlopen, read } from "bun:ffi";
import { errorOf } from "../errors.ts";

/**
 * The calls of libc. The numbers of system calls are used for what older versions of libc lack.
 */
const SYMBOLS = {
  syscall: { args: ["i32", "i32", "ptr", "i64", "i64", "ptr"], returns: "i32" },
  openat: { args: ["i32", "ptr", "i32", "u32"], returns: "i32" },
  lseek: { args: ["i32", "i64", "i32"], returns: "i64" },
  readlinkat: { args: ["i32", "ptr", "ptr", "u64"], returns: "i64" },
  mkdirat: { args: ["i32", "ptr", "u32"], returns: "i32" },
  symlinkat: { args: ["ptr", "i32", "ptr"], returns: "i32" },
  linkat: { args: ["i32", "ptr", "i32", "ptr", "i32"], returns: "i32" },
  renameat: { args: ["i32", "ptr", "i32", "ptr"], returns: "i32" },
  unlinkat: { args: ["i32", "ptr", "i32"], returns: "i32" },
  utimensat: { args: ["i32", "ptr", "ptr", "i32"], returns: "i32" },
  futimens: { args: ["i32", "ptr"], returns: "i32" },
  fchownat: { args: ["i32", "ptr", "u32", "u32", "i32"], returns: "i32" },
  llistxattr: { args: ["ptr", "ptr", "u64"], returns: "i64" },
  lgetxattr: { args: ["ptr", "ptr", "ptr", "u64"], returns: "i64" },
  lsetxattr: { args: ["ptr", "ptr", "ptr", "u64", "i32"], returns: "i32" },
  fsetxattr: { args: ["i32", "ptr", "ptr", "u64", "i32"], returns: "i32" },
  getpwuid: { args: ["u32"], returns: "ptr" },
  getgrgid: { args: ["u32"], returns: "ptr" },
  getpwnam: { args: ["ptr"], returns: "ptr" },
  getgrnam: { args: ["ptr"], returns: "ptr" },
  __errno_location: { args: [], returns: "ptr" },
} as const;

type Libc = ReturnType<typeof dlopen<typeof SYMBOLS>>["symbols"];

export interface Calls {
  readonly libc: Libc;
  readonly numbers: { statx: number; getdents64: number; mknodat: number; openat2: number };
  /** What the last call left in `errno`. */
  errno(): number;
  /** Throws if a call returned a negative number; otherwise returns it. */
  checked(result: number | bigint, syscall: string): number;
  /**
   * The name and the id of a user or group: the structures of both have a pointer to the name first and
   * the id at byte 16.
   */
  account(pointer: Pointer | bigint | null): { name: string; id: number } | undefined;
}

const NUMBERS: Readonly<Record<string, Calls["numbers"]>> = {
  x64: { statx: 332, getdents64: 217, mknodat: 259, openat2: 437 },
  arm64: { statx: 291, getdents64: 61, mknodat: 33, openat2: 437 },
};

const MUSL: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** @throws Error if libc cannot be opened, or this processor is not known */
export function openLibc(): Calls {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined) throw new Error(`no numbers of system calls for ${process.arch}`);
  const { symbols: libc } = openFirst(["libc.so.6", `libc.musl-${MUSL[process.arch]}.so.1`]);
  const location = libc["__errno_location"]()!;
  const errno = (): number => read.i32(location, 0);
  return {
    libc,
    numbers,
    errno,
    checked(result, syscall) {
      if (result < 0) throw errorOf(errno(), syscall);
      return Number(result);
    },
    account(pointer) {
      if (pointer === null || typeof pointer === "bigint") return undefined;
      // A CString is an object, its slice is a string.
      const name = new CString(read.ptr(pointer, 0)).slice();
      return { name, id: read.u32(pointer, 16) };
    },
  };
}

function openFirst(names: readonly string[]): ReturnType<typeof dlopen<typeof SYMBOLS>> {
  let failure: unknown;
  for (const name of names) {
    try {
      return dlopen(name, SYMBOLS);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
