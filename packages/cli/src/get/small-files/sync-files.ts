import { fstatSync, fsyncSync, statfsSync } from "node:fs";
import { release } from "node:os";
import { type SystemCalls, openSystemCalls } from "../../system-calls.ts";

/** A file that was written, and is not synced yet. */
export interface WrittenFile {
  readonly descriptor: number;
}

/**
 * Local file systems of which syncfs(2) leaves nothing that was written in a cache, by `f_type` of
 * statfs(2): ext4, XFS, Btrfs, F2FS, tmpfs. One in user space need not be told of it at all.
 */
const FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994,
]);

/** So few are synced one by one, which is faster. */
const FEW = 4;

/** Milliseconds for each file: what takes longer has to wait for what other programs write. */
const SLOW = 50;

/** Waits until the contents of files are on the disk, and returns those files of which they are. */
export type SyncFiles = (files: readonly WrittenFile[]) => WrittenFile[];

/** What it calls; by default that of the system. */
export interface SyncCalls {
  /** Undefined if the system has none that can be relied on. */
  readonly syncFileSystem?: SystemCalls["syncFileSystem"] | undefined;
  /** @throws if the content is not on the disk */
  readonly sync?: (descriptor: number) => void;
  /** The `f_type` of the file system of a file. */
  readonly typeOf?: (descriptor: number) => number;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

/** @returns what syncs files on this system */
export async function loadSyncFiles(): Promise<SyncFiles> {
  const calls = reportsErrors(process.platform, release()) ? await openSystemCalls() : undefined;
  return createSyncFiles({ syncFileSystem: calls?.syncFileSystem });
}

/**
 * Many new files take a file system hardly longer than one, if it is told to write all that it has. That is
 * also what other programs have written: if it takes long, each file is synced by itself from then on.
 */
export function createSyncFiles({
  syncFileSystem,
  sync = fsyncSync,
  typeOf = (descriptor) => statfsSync(`/proc/self/fd/${descriptor}`).type,
  now = () => performance.now(),
}: SyncCalls): SyncFiles {
  let isSlow = false;
  /** By device. */
  const suitable = new Map<number, boolean>();

  const isSuitable = (device: number, descriptor: number): boolean => {
    let is = suitable.get(device);
    if (is === undefined) {
      try {
        is = FILE_SYSTEMS.has(typeOf(descriptor) >>> 0);
      } catch {
        is = false;
      }
      suitable.set(device, is);
    }
    return is;
  };
  const isSynced = ({ descriptor }: WrittenFile): boolean => {
    try {
      sync(descriptor);
      return true;
    } catch {
      return false;
    }
  };
  const areSynced = (files: readonly WrittenFile[], device: number | undefined): boolean => {
    if (syncFileSystem === undefined || isSlow) return false;
    if (device === undefined || files.length <= FEW) return false;
    const [first] = files as readonly [WrittenFile];
    if (!isSuitable(device, first.descriptor)) return false;
    const begun = now();
    // Without a journal, ext4 writes inodes after it has flushed the disk's cache. A file's own sync flushes it.
    const are = syncFileSystem(first.descriptor) && isSynced(first);
    isSlow = now() - begun > SLOW * files.length;
    return are;
  };

  return (files) => {
    const devices = new Map<number | undefined, WrittenFile[]>();
    for (const file of files) {
      const device = deviceOf(file);
      const onDevice = devices.get(device);
      if (onDevice === undefined) devices.set(device, [file]);
      else onDevice.push(file);
    }
    return [...devices].flatMap(([device, onDevice]) =>
      areSynced(onDevice, device) ? onDevice : onDevice.filter(isSynced),
    );
  };
}

/** @returns undefined if the system does not say */
function deviceOf({ descriptor }: WrittenFile): number | undefined {
  try {
    return fstatSync(descriptor).dev;
  } catch {
    return undefined;
  }
}

/**
 * Whether syncfs reports what could not be written: since Linux 5.8 for contents, since 5.17 for what the file
 * system itself writes.
 *
 * @param version of the kernel, such as `6.8.0-31-generic`
 */
export function reportsErrors(platform: string, version: string): boolean {
  if (platform !== "linux") return false;
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 17);
}
