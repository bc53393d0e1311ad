import { open } from "node:fs/promises";

/**
 * A preload that kills the process with SIGKILL before it calls a method of an open file for the
 * KILL_AT-th time.
 */

const left = { calls: Number(process.env["KILL_AT"]) };
const probe = await open(import.meta.path);
const FileHandle = Object.getPrototypeOf(probe) as Record<string, (...args: unknown[]) => unknown>;
await probe.close();

for (const name of ["read", "stat", "chmod", "writeFile", "write", "sync", "close"]) {
  const method = FileHandle[name]!;
  FileHandle[name] = function counted(this: unknown, ...args: unknown[]) {
    left.calls -= 1;
    if (left.calls === 0) process.kill(process.pid, "SIGKILL");
    return method.apply(this, args);
  };
}
