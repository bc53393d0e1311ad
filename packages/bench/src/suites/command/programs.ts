/** The command, and other programs that store a large file and fetch it. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Identity, formatIdentity } from "@idk/storage";
import {
  isolatedUserFolders,
  sha256OfFile,
  syncToDisk,
  withFolder,
  writeRandomFile,
} from "../../harness/files.ts";
import { type Program, RUNTIME_FLAGS, run } from "../../harness/processes.ts";
import type { Labels, Sample } from "../../harness/results.ts";
import type { Lane } from "../../harness/sampling.ts";
import { exactTarget, peakBound } from "../../harness/targets.ts";
import type { Measurement, Target } from "../../report/report.ts";
import type { ObjectStoreAccess } from "../../suite.ts";

/** For the command, and for the library, with a file of any size. */
export function peakTarget({ name, peakRss = Number.NaN }: Measurement): Target {
  return exactTarget(`${name}: peak of resident memory`, peakRss, "bytes", peakBound());
}

/** How the command finds a server by its variables, and the URL of a prefix in the bucket. */
export function minioOf({ endpoint, accessKeyId, secretAccessKey, bucket }: ObjectStoreAccess): {
  readonly env: Readonly<Record<string, string>>;
  url(prefix: string): string;
} {
  return {
    env: {
      MINIO_ENDPOINT: endpoint,
      MINIO_ACCESS_KEY: accessKeyId,
      MINIO_SECRET_KEY: secretAccessKey,
    },
    url: (prefix) => `minio:///${bucket}/${prefix}`,
  };
}

interface Command {
  help(): Program;
  put(file: string, store: string): Program;
  get(address: string, store: string, output: string): Program;
  /** To standard output. */
  print(address: string, store: string): Program;
  stat(address: string, store: string): Program;
  /** Reads and opens all of a content. */
  verify(address: string, store: string): Program;
  /** Stores all files of a folder, and prints a line for each. */
  putAll(folder: string, store: string): Program;
  /** Fetches what a list names. */
  getAll(list: string, store: string, output: string): Program;
  /** Lists all contents with their names, as lines of JSON. */
  list(store: string): Program;
  /** Compares all blobs by the checksums of the server, and prints a line of JSON for each. */
  verifyChecksums(store: string): Program;
  /** Makes a repository for snapshots, too, if there is none. */
  backup(path: string, name: string, store: string): Program;
  snapshots(store: string): Program;
}

/**
 * The command, without the settings, keys and journals of the user, which it has below the folder.
 *
 * @param path of a script for Bun, or of an executable
 */
export async function commandOf(
  path: string,
  folder: string,
  identity: Identity,
  env: Readonly<Record<string, string>> = {},
): Promise<Command> {
  const key = join(folder, "idk.key");
  await writeFile(key, `${formatIdentity(identity)}\n`, { mode: 0o600 });
  const starting = /\.c?[jt]s$/u.test(path) ? [process.execPath, ...RUNTIME_FLAGS, path] : [path];
  const idk = (...args: string[]): Program => ({
    argv: [...starting, ...args],
    env: { ...isolatedUserFolders(folder), ...env },
  });
  return {
    help: () => idk("--help"),
    put: (file, store) => idk("put", file, "-r", identity.recipient, "--store", store),
    get: (address, store, output) => idk("get", address, "-i", key, "--store", store, "-o", output),
    print: (address, store) => idk("get", address, "-i", key, "--store", store),
    stat: (address, store) => idk("stat", address, "-i", key, "--store", store),
    verify: (address, store) =>
      idk("verify", address, "--deep", "--json", "-i", key, "--store", store),
    putAll: (from, store) => idk("put", from, "-r", identity.recipient, "--store", store),
    getAll: (list, store, output) =>
      idk("get", "--from-file", list, "-i", key, "--store", store, "--output-dir", output),
    list: (store) => idk("ls", "--long", "--json", "-i", key, "--store", store),
    verifyChecksums: (store) => idk("verify", "--server-checksums", "--json", "--store", store),
    backup: (path, name, store) =>
      idk("backup", path, "--name", name, "-i", key, "-r", identity.recipient, "--store", store),
    snapshots: (store) => idk("snapshots", "-i", key, "--store", store),
  };
}

export interface LargeFile {
  /** A temporary folder. */
  readonly folder: string;
  /** The path of the file. */
  readonly source: string;
  /** The path to write it to again, in a folder that is emptied before. */
  readonly fetched: string;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** Writes a file of random bytes and works with it. */
export function withLargeFile<T>(size: number, work: (file: LargeFile) => Promise<T>): Promise<T> {
  return withFolder(async (folder) => {
    const [source, fetched] = [join(folder, "source/file"), join(folder, "fetched/file")];
    await mkdir(dirname(source));
    await writeRandomFile(source, size);
    return work({ folder, source, fetched, sha256: await sha256OfFile(source) });
  });
}

/** A program, or the library, that stores the file and fetches it. Each run is a process of its own. */
export interface Contender {
  readonly name: string;
  /** Unmeasured preparation of a place to store in. */
  prepare?(place: string): Promise<unknown>;
  /** Stores the file in a new place. The output is what `get` needs. */
  put(place: string): Promise<Sample & { readonly stdout: string }>;
  /** Fetches it; without it, `put` did. */
  get?(place: string, stored: string): Promise<Sample>;
  /** Fetches it to standard output, which a command of the shell reads. The output is that command's. */
  print?(
    place: string,
    stored: string,
    reader: string,
  ): Promise<Sample & { readonly stdout: string }>;
}

/** A place to store the file in each time, and how it is cleared afterwards. */
export interface Places {
  next(): string;
  clear(place: string): Promise<unknown>;
}

/**
 * A put and a get by the same contender, which ends when the file is on disk.
 *
 * @param labels of the put, the get and, if wanted, the get without what was left to sync, and the get to
 *   standard output, which reads the bytes once more to compare them
 */
export function laneOf(
  { name, prepare, put, get, print }: Contender,
  labels: readonly Labels[],
  { fetched, sha256 }: LargeFile,
  { next, clear }: Places,
): Lane {
  const fresh = async (): Promise<void> => {
    await rm(dirname(fetched), { recursive: true, force: true });
    await mkdir(dirname(fetched));
    await run({ argv: ["sync"] });
  };
  return {
    labels,
    async sample() {
      const place = next();
      await prepare?.(place);
      await fresh();
      const { stdout, ...stored } = await put(place);
      const samples: Sample[] = [stored];
      if (get) {
        await fresh();
        const got = await get(place, stdout.trim());
        samples.push({ ...got, seconds: got.seconds + (await syncToDisk(fetched)) }, got);
      }
      const found = [await sha256OfFile(fetched)];
      if (print && labels.length > samples.length) {
        samples.push(await print(place, stdout.trim(), "cat >/dev/null"));
        found.push((await print(place, stdout.trim(), "sha256sum")).stdout.slice(0, 64));
      }
      if (found.some((hash) => hash !== sha256)) throw new Error(`${name}: wrong bytes came back`);
      await clear(place);
      return samples.slice(0, labels.length);
    },
  };
}
