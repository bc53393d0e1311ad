/** The command lines to back up a folder to an object store, and to restore it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatIdentity, generateIdentity, type Identity } from "@idk/storage";
import { isolatedUserFolders } from "../src/harness/files.ts";
import { type Program, RUNTIME_FLAGS } from "../src/harness/processes.ts";
import type { ObjectStoreAccess } from "../src/suite.ts";
import type { Peers } from "../src/suites/command/peer-programs.ts";
import { minioOf } from "../src/suites/command/programs.ts";
import { PASSWORD, awsEnvironment } from "./contenders.ts";
import { laterPrune } from "./later-prune.ts";

/** What is backed up, and where to. */
export interface BackupSetting {
  readonly source: string;
  /** For keys, caches and configuration, below an empty folder. */
  readonly home: string;
  /** Without a repository. */
  readonly access: ObjectStoreAccess;
}

/** A program and a repository of its own. */
export interface BackupProgram {
  /** Makes the repository, if the first backup does not. */
  readonly init?: Program;
  readonly backup: Program;
  /** All of the newest snapshot, into a folder that does not exist. */
  restore(target: string): Program;
  forget(keep: number): Program;
  /** Frees what forgotten snapshots needed: of idk as if the grace period were over. */
  readonly prune: Program;
}

/** What only idk has. */
export interface IdkBackups extends BackupProgram {
  /** Opens the repository. */
  readonly identity: Identity;
  /** Of a file of the newest snapshot. */
  cat(path: string): Program;
  /** Stores a file outside the repository. */
  put(path: string): Program;
}

/**
 * The command idk as one user of a machine has it: a store in the configuration, an identity, a cache.
 *
 * @param script its entry point
 */
export async function idkBackups(
  script: string,
  { source, home, access }: BackupSetting,
): Promise<IdkBackups> {
  const identity = await generateIdentity();
  const folders = isolatedUserFolders(home);
  const config = join(folders["XDG_CONFIG_HOME"]!, "idk");
  await mkdir(config, { recursive: true, mode: 0o700 });
  const key = join(home, "idk.key");
  await writeFile(key, `${formatIdentity(identity)}\n`, { mode: 0o600 });
  const server = minioOf(access);
  const url = server.url(access.prefix);
  const store = { url, identity: key, recipients: [identity.recipient] };
  const lines = Object.entries(store).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const text = ['default = "bench"', "[store.bench]", ...lines, ""].join("\n");
  await writeFile(join(config, "config.toml"), text, { mode: 0o600 });
  const env = { ...folders, ...server.env };
  const idk = (...args: string[]): Program => ({
    argv: [process.execPath, ...RUNTIME_FLAGS, script, ...args],
    env,
  });
  return {
    identity,
    backup: idk("backup", source, "--name", "home", "--json"),
    restore: (target) => idk("restore", `home:${source}`, "--target", target),
    cat: (path) => idk("cat", `home:${join(source, path)}`),
    forget: (keep) => idk("forget", "--keep-last", String(keep)),
    prune: laterPrune({ access, identity: formatIdentity(identity) }),
    put: (path) => idk("put", path),
  };
}

export function resticBackups(
  { restic }: Peers,
  { source, home, access }: BackupSetting,
): BackupProgram {
  const repository = `s3:${access.endpoint}/${access.bucket}/${access.prefix}repo`;
  const env = {
    ...awsEnvironment(access),
    RESTIC_PASSWORD: PASSWORD,
    RESTIC_CACHE_DIR: join(home, "restic"),
  };
  const program = (...args: string[]): Program => ({
    argv: [restic, "--quiet", "--repo", repository, ...args],
    env,
  });
  return {
    init: program("init"),
    backup: program("backup", source),
    restore: (target) => program("restore", `latest:${source}`, "--target", target),
    forget: (keep) => program("forget", "--keep-last", String(keep)),
    prune: program("prune"),
  };
}

export function kopiaBackups(
  { kopia }: Peers,
  { source, home, access }: BackupSetting,
): BackupProgram {
  const env = {
    ...awsEnvironment(access),
    KOPIA_PASSWORD: PASSWORD,
    KOPIA_CONFIG_PATH: join(home, "kopia.config"),
    KOPIA_CACHE_DIRECTORY: join(home, "kopia"),
    KOPIA_LOG_DIR: join(home, "kopia-logs"),
    KOPIA_CHECK_FOR_UPDATES: "false",
  };
  const program = (...args: string[]): Program => ({
    argv: [kopia, ...args, "--no-progress"],
    env,
  });
  const { endpoint, bucket, prefix, region } = access;
  const place = [`--bucket=${bucket}`, `--prefix=${prefix}repo/`, `--region=${region}`];
  const server = [`--endpoint=${new URL(endpoint).host}`, "--disable-tls"];
  return {
    init: program("repository", "create", "s3", ...place, ...server),
    backup: program("snapshot", "create", source),
    restore: (target) => program("restore", source, target),
    forget: (keep) => program("policy", "set", source, `--keep-latest=${keep}`),
    prune: program("maintenance", "run", "--full"),
  };
}
