import { type BackupOptions, type BackupSummary } from "../../src/write/options.ts";
import { type Backend, wrapBackend } from "@idk/storage";
import { type OpenSnapshot, openSnapshot } from "../../src/read/open-snapshot.ts";
import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { backup } from "../../src/write/backup.ts";
import { join } from "node:path";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { tmpdir } from "node:os";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

/** A folder to back up, and a repository in memory whose clock is this host's too. */
export interface Given extends OwnRepository {
  /** The folder to back up. */
  readonly source: string;
  readonly cache: string;
  /** What is sent, by kind; `taken` begins again. */
  readonly sent: () => Sent;
  /** Backs up over another backend, with some options changed. */
  readonly run: (change?: Partial<BackupOptions>, over?: Backend) => Promise<BackupSummary>;
  readonly open: OwnRepository["open"];
  readonly read: (name?: string) => Promise<OpenSnapshot>;
  readonly end: () => void;
}

/** Requests since the last look. */
export interface Sent {
  readonly requests: number;
  readonly puts: number;
  readonly bytes: number;
  /** Puts of more than 4 KiB, as packs of tests have no others. */
  readonly heads: number;
}

/** A backend as a host has it that can put and list, and neither get nor delete. */
export function writeOnly(inner: Backend): { backend: Backend; take: () => Sent } {
  let counts = { requests: 0, puts: 0, bytes: 0, heads: 0 };
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
        counts.heads += 1;
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
    counts = { requests: 0, puts: 0, bytes: 0, heads: 0 };
    return taken;
  };
  return { backend, take };
}

export async function given(): Promise<Given> {
  const own = await testRepository();
  const base = realpathSync(mkdtempSync(join(tmpdir(), "idk-backup-test-")));
  const source = join(base, "source");
  const cache = join(base, "cache", "cache.sqlite");
  const limited = writeOnly(own.backend);
  const memory = volatileHeadMemory();
  const run: Given["run"] = async (change = {}, over = limited.backend) => {
    const repository = await own.open(memory, over);
    const { recipients, clock } = own;
    return backup(
      { ...repository, identities: [] },
      {
        name: "home",
        paths: [Buffer.from(source)],
        recipients,
        cache,
        workers: 0,
        now: () => clock.now,
        ...change,
      },
    );
  };
  const read: Given["read"] = async (name = "home") => {
    const repository = await own.open();
    return openSnapshot(repository, await resolveSnapshot(repository, name));
  };
  const end = (): void => rmSync(base, { recursive: true, force: true });
  return { ...own, source, cache, run, read, end, sent: limited.take };
}

/** Path below the source, type, mode, size, mtime, target and content of everything in a snapshot. */
export async function contents(snapshot: OpenSnapshot, source: string): Promise<string[]> {
  const prefix = Buffer.from(source.slice(1)).toString("latin1");
  const lines: string[] = [];
  for (const { path, entry } of await all(snapshot.entries("", { recursive: true }))) {
    const text = Buffer.from(path).toString("latin1");
    if (!text.startsWith(prefix)) continue;
    const { seconds, nanoseconds } = entry.mtime;
    const rest =
      entry.type === "file"
        ? Buffer.concat(await all(snapshot.content(path))).toString("latin1")
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
