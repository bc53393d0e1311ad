import type { BackupOptions, BackupSummary } from "../../src/write/options.ts";
import { type Backend, wrapBackend } from "@idk/storage";
import { type OpenSnapshot, openSnapshot } from "../../src/read/open-snapshot.ts";
import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statfsSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { backup } from "../../src/write/backup.ts";
import { contentOf } from "../../src/read/file-content.ts";
import { join } from "node:path";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { tmpdir } from "node:os";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

/** A folder to back up, and a repository in memory whose clock is this host's too. */
export interface Given extends OwnRepository {
  /** The folder to back up. */
  readonly source: string;
  readonly cache: string;
  /** Those of `run`, unless it changes them. */
  readonly options: BackupOptions;
  /** What is sent, by kind; `taken` begins again. */
  readonly sent: () => Sent;
  /** Backs up over another backend, with some options changed. */
  readonly run: (change?: Partial<BackupOptions>, over?: Backend) => Promise<BackupSummary>;
  readonly open: OwnRepository["open"];
  readonly read: (name?: string) => Promise<OpenSnapshot>;
  /** Writes a file whose time is long ago, and the folders above it. */
  readonly write: (path: string, content: string | Uint8Array) => void;
  /** Lets an hour pass. */
  readonly later: (hours?: number) => void;
  /** The tree id of the folder in the newest snapshot. Those above it may change at any time. */
  readonly treeId: () => Promise<string>;
  readonly end: () => void;
}

/** Requests since the last look. */
export interface Sent {
  readonly requests: number;
  /** Of blobs: packs, and three for snapshot, reach and head. */
  readonly puts: number;
  readonly bytes: number;
  readonly markers: number;
}

/** A backend as a host has it that can put and list, and neither get nor delete. */
export function writeOnly(inner: Backend): { backend: Backend; take: () => Sent } {
  let counts = { requests: 0, puts: 0, bytes: 0, markers: 0 };
  const refuse = (call: string) => async (): Promise<never> => {
    throw new Error(`a host that only writes called ${call}`);
  };
  const backend = wrapBackend(inner, {
    get: () => refuse("get"),
    getRange: () => refuse("getRange"),
    head: () => refuse("head"),
    delete: () => refuse("delete"),
    deleteMarker: () => refuse("deleteMarker"),
    put:
      (put) =>
      async (...given) => {
        counts.requests += 1;
        counts.puts += 1;
        counts.bytes += given[1].length;
        return put(...given);
      },
    putMarker:
      (put) =>
      async (...given) => {
        counts.requests += 1;
        counts.markers += 1;
        return put(...given);
      },
    list: (list) =>
      function listed(...given) {
        counts.requests += 1;
        return list(...given);
      },
    listMarkers: (list) =>
      function listed(...given) {
        counts.requests += 1;
        return list(...given);
      },
  });
  const take = (): Sent => {
    const taken = counts;
    counts = { requests: 0, puts: 0, bytes: 0, markers: 0 };
    return taken;
  };
  return { backend, take };
}

/**
 * A folder in which hardly anybody else writes: the folders above are in a snapshot, too. In memory if there
 * is room, because thousands of files are made and removed again.
 */
const STILL = ["/dev/shm", "/var/tmp"].find((folder) => hasRoom(folder)) ?? tmpdir();

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 2 ** 30;
}

const LONG_AGO = new Date("2001-01-01");

export async function given(): Promise<Given> {
  const own = await testRepository();
  own.clock.now = Date.now() + 60_000;
  const [base, other] = ["source", "cache"].map((name) =>
    realpathSync(mkdtempSync(join(STILL, `idk-backup-${name}-`))),
  ) as [string, string];
  const source = join(base, "source");
  const cache = join(other, "cache", "cache.sqlite");
  const limited = writeOnly(own.backend);
  const memory = volatileHeadMemory();
  const options: BackupOptions = {
    name: "home",
    paths: [Buffer.from(source)],
    recipients: own.recipients,
    cache,
    now: () => own.clock.now,
  };
  const run: Given["run"] = async (change = {}, over = limited.backend) => {
    const repository = await own.open(memory, over);
    return backup({ ...repository, identities: [] }, { ...options, workers: 0, ...change });
  };
  const read: Given["read"] = async (name = "home") => {
    const repository = await own.open();
    return openSnapshot(repository, await resolveSnapshot(repository, name));
  };
  const end = (): void => {
    for (const folder of [base, other]) rmSync(folder, { recursive: true, force: true });
  };
  const write: Given["write"] = (path, content) => {
    const whole = join(source, path);
    mkdirSync(join(whole, ".."), { recursive: true });
    writeFileSync(whole, content);
    utimesSync(whole, LONG_AGO, LONG_AGO);
  };
  const later = (hours = 1): void => {
    own.clock.now += hours * 3_600_000;
  };
  const treeId: Given["treeId"] = async () => {
    const found = await (await read()).entry(source.slice(1));
    return found?.entry.type === "directory" ? Buffer.from(found.entry.hash).toString("hex") : "";
  };
  mkdirSync(source);
  return {
    ...own,
    source,
    cache,
    options,
    run,
    read,
    write,
    later,
    treeId,
    end,
    sent: limited.take,
  };
}

/** What `contents` has to return, by the runtime's own calls. */
export function expected(folder: string, below = ""): string[] {
  const lines: string[] = [];
  const line = (path: string): void => {
    const whole = join(folder, path);
    const stat = lstatSync(whole, { bigint: true });
    const [seconds, nanoseconds] = [stat.mtimeNs / 10n ** 9n, stat.mtimeNs % 10n ** 9n];
    const [type, rest] = stat.isDirectory()
      ? ["directory", ""]
      : stat.isSymbolicLink()
        ? ["link", readlinkSync(whole)]
        : ["file", readFileSync(whole).toString("latin1")];
    const size = type === "file" ? stat.size : 0n;
    const mode = (Number(stat.mode) & 0o7777).toString(8);
    const name = path === "" ? "" : `/${path}`;
    lines.push(`${name} ${type} ${mode} ${size} ${seconds}.${nanoseconds} ${rest}`);
  };
  line(below);
  for (const name of readdirSync(join(folder, below)).toSorted()) {
    const path = below === "" ? name : `${below}/${name}`;
    if (lstatSync(join(folder, path)).isDirectory()) lines.push(...expected(folder, path));
    else line(path);
  }
  return lines;
}

/** Path below the source, type, mode, size, mtime, target and content of everything in a snapshot. */
export async function contents(snapshot: OpenSnapshot, source: string): Promise<string[]> {
  const prefix = Buffer.from(source.slice(1)).toString("latin1");
  const lines: string[] = [];
  for (const { path, entry, pack } of await all(snapshot.entries("", { recursive: true }))) {
    const text = Buffer.from(path).toString("latin1");
    if (!text.startsWith(prefix)) continue;
    const { seconds, nanoseconds } = entry.mtime;
    const rest =
      entry.type === "file"
        ? // Not by its path, for which the nodes on the way would be decoded for each file.
          Buffer.concat(
            await all(contentOf(snapshot.tree, snapshot.packs, { entry, pack })),
          ).toString("latin1")
        : entry.type === "link"
          ? Buffer.from(entry.target).toString("latin1")
          : "";
    const size = entry.type === "file" ? entry.size : 0;
    lines.push(
      `${text.slice(prefix.length)} ${entry.type} ${entry.mode.toString(8)} ${size} ${seconds}.${nanoseconds} ${rest}`,
    );
  }
  return lines;
}
