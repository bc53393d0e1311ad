import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { quotedWord } from "../output/secrets.ts";
import { usage } from "../errors/failures.ts";

/**
 * The host in names of snapshots that have none of their own. The one that the configuration lets this
 * machine write, as in `web1/*`, because what the system calls itself may change with the network.
 */
export function hostOf(names: readonly string[] = []): string {
  for (const name of names) {
    const [, host] = /^([^*]+)\/\*$/u.exec(name) ?? [];
    if (host !== undefined) return host;
  }
  return hostname();
}

/** The snapshots of a host that have no name of their own: its name, and the paths. */
export function hostPattern(host: string): string {
  return `${host}/*`;
}

/**
 * The name of the snapshots of some paths, if none is given: the host's, and the absolute paths. So
 * that backups of different folders do not take turns in one chain, in which a policy that keeps one a
 * day would forget the other.
 */
export function defaultName(paths: readonly string[], host: string): string {
  return host + paths.map(absolute).toSorted().join(",");
}

/** As the snapshot will have it: links above a path are resolved, and the path itself may be one. */
function absolute(path: string): string {
  const whole = resolve(path);
  try {
    return join(realpathSync(dirname(whole)), basename(whole));
  } catch {
    // The backup will report it.
    return whole;
  }
}

/** What is wrong with a name for new snapshots; undefined if nothing is. */
export function checkName(name: string): string {
  if (!name.includes(":")) return name;
  throw usage(
    `the name ${quotedWord(name)} has a colon, which separates a snapshot from a path: choose another with --name`,
  );
}

/** A snapshot and a path in it. */
export interface SnapshotPath {
  readonly snapshot: string;
  /** Undefined if there is no colon. */
  readonly path: string | undefined;
}

/** A time has colons, too. */
const WITH_TIME = /^(.+@\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?Z)(?::(.*))?$/su;

/** Splits `SNAPSHOT:PATH` at the first colon that is not one of a time. */
export function splitSnapshotPath(text: string): SnapshotPath {
  const [, timed, inner] = WITH_TIME.exec(text) ?? [];
  if (timed !== undefined) return { snapshot: timed, path: inner };
  const colon = text.indexOf(":");
  if (colon === -1) return { snapshot: text, path: undefined };
  return { snapshot: text.slice(0, colon), path: text.slice(colon + 1) };
}
