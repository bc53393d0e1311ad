import type { Difference, FoundSnapshot, OpenSnapshot, WalkedEntry } from "@idk/snapshots";
import { printable, roundBytes, toHex } from "../output/text.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A path in a snapshot as JSON has it: text, or bytes if it is not UTF-8. With a slash before it. */
export function pathJson(path: Uint8Array): string | Uint8Array {
  const rooted = Buffer.concat([Buffer.from("/"), path]);
  try {
    return utf8.decode(rooted);
  } catch {
    return rooted;
  }
}

/** A path in a snapshot for people: one line, safe to print. */
export function pathText(path: Uint8Array): string {
  return `/${printable(Buffer.from(path).toString("utf8"))}`;
}

const SLASH = 0x2f;

/** Without the slash in front, which paths in a snapshot do not have. */
export function rootless(path: Uint8Array): Uint8Array {
  return path[0] === SLASH ? path.subarray(1) : path;
}

const TYPES: Readonly<Record<WalkedEntry["entry"]["type"], string>> = {
  file: "-",
  directory: "d",
  link: "l",
  fifo: "p",
  socket: "s",
  "character-device": "c",
  "block-device": "b",
};

const [SET_UID, SET_GID, STICKY] = [0o4000, 0o2000, 0o1000];

/** A mode as `ls -l` prints it, such as `-rwxr-xr-x`. */
export function modeText({ type, mode }: Pick<WalkedEntry["entry"], "type" | "mode">): string {
  const triple = (shift: number, special: boolean, letter: string) => {
    const bits = (mode >> shift) & 7;
    const runs = (bits & 1) !== 0;
    const last = special ? (runs ? letter : letter.toUpperCase()) : runs ? "x" : "-";
    return `${(bits & 4) !== 0 ? "r" : "-"}${(bits & 2) !== 0 ? "w" : "-"}${last}`;
  };
  return (
    TYPES[type] +
    triple(6, (mode & SET_UID) !== 0, "s") +
    triple(3, (mode & SET_GID) !== 0, "s") +
    triple(0, (mode & STICKY) !== 0, "t")
  );
}

/** Milliseconds since 1970. */
function milliseconds({ mtime }: WalkedEntry["entry"]): number {
  return mtime.seconds * 1000 + Math.floor(mtime.nanoseconds / 1e6);
}

/** `2026-05-04 12:00:00`, in UTC. */
export function timeText(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "-" : date.toISOString().slice(0, 19).replace("T", " ");
}

/** Which snapshot it is, for people: `web1/etc of 2026-05-04 12:00:00 UTC (5f2b8c1e9a04)`. */
export function identityText({ head, marker }: FoundSnapshot): string {
  return `${printable(head.name)} of ${timeText(head.time)} UTC (${marker.address.slice(0, 12)})`;
}

/** The same as JSON. */
export function identityJson({ head, marker }: FoundSnapshot): object {
  return { snapshot: marker.address, name: head.name, time: head.time };
}

type Content = OpenSnapshot["snapshot"];

/** What a snapshot records about itself, as JSON. */
export function contentJson({
  host,
  user,
  paths,
  excludes,
  start,
  end,
  totals,
}: Pick<Content, "host" | "user" | "paths" | "excludes" | "start" | "end" | "totals">): object {
  const rooted = paths.map((path) => pathJson(rootless(path)));
  return { host, user, paths: rooted, excludes, start, end, ...totals };
}

const OWNER_WIDTH = 8;
const SIZE_WIDTH = 10;
const OWNER_MAX = 32;

/** A line as `ls -l` has it: mode, owner, group, size, time in UTC, path, target. */
export function longLine({ entry, path }: WalkedEntry): string {
  const owner = (name: string | undefined, id: number) =>
    printable((name ?? `${id}`).slice(0, OWNER_MAX)).padEnd(OWNER_WIDTH);
  const target =
    entry.type === "link" ? ` -> ${printable(Buffer.from(entry.target).toString())}` : "";
  return [
    modeText(entry),
    owner(entry.extra.user, entry.uid),
    owner(entry.extra.group, entry.gid),
    (entry.type === "file" ? roundBytes(entry.size) : "-").padStart(SIZE_WIDTH),
    timeText(milliseconds(entry)),
    `${pathText(path)}${target}`,
  ].join("  ");
}

/** An entry as JSON. Times are milliseconds since 1970; hashes are SHA-256. */
export function entryJson({ entry, path }: WalkedEntry): object {
  const { user, group, links, inconsistent, attributes } = entry.extra;
  return {
    path: pathJson(path),
    type: entry.type,
    ...(entry.type === "file" && { size: entry.size, sha256: toHex(entry.hash) }),
    ...(entry.type === "link" && { target: textOrBytes(entry.target) }),
    ...(entry.type === "directory" && { tree: toHex(entry.hash) }),
    ...("major" in entry && { device: [entry.major, entry.minor] }),
    mode: entry.mode,
    uid: entry.uid,
    gid: entry.gid,
    ...(user !== undefined && { user }),
    ...(group !== undefined && { group }),
    mtime: milliseconds(entry),
    ...(links !== undefined && { links }),
    ...(attributes !== undefined && { attributes: [...attributes.keys()] }),
    ...(inconsistent && { changedWhileRead: true }),
  };
}

/** Text, or bytes that are not UTF-8. */
export function textOrBytes(bytes: Uint8Array): string | Uint8Array {
  try {
    return utf8.decode(bytes);
  } catch {
    return bytes;
  }
}

/** Added, removed, another type, another content, other attributes. */
export function differenceSign({ change, before, after }: Difference): string {
  switch (change) {
    case "added":
      return "+";
    case "removed":
      return "-";
    case "content":
      return before?.entry.type === after?.entry.type ? "M" : "T";
    case "attributes":
      return "U";
    default:
      return change satisfies never;
  }
}
