import type { OpenSnapshot } from "../../src/read/open-snapshot.ts";
import type { Entry } from "../../src/format/tree/entry.ts";
import type { ShownEntry } from "./reference.ts";
import { createHash } from "node:crypto";
import { toHex } from "../support.ts";

const TYPES: readonly Entry["type"][] = [
  "file",
  "directory",
  "link",
  "fifo",
  "socket",
  "character-device",
  "block-device",
];

/** An entry as the independent program in Python shows it, without what it found in its content. */
export function shownEntry(entry: Entry, path: Uint8Array): ShownEntry {
  const { user, group, links, attributes, inconsistent } = entry.extra;
  const x = attributes && Object.fromEntries([...attributes].map(([k, v]) => [k, toHex(v)]));
  const shown = {
    path: toHex(path),
    type: TYPES.indexOf(entry.type),
    mode: entry.mode,
    uid: entry.uid,
    gid: entry.gid,
    mtime: [entry.mtime.seconds, entry.mtime.nanoseconds] as const,
    size: entry.type === "file" ? entry.size : 0,
    hash: "hash" in entry ? toHex(entry.hash) : null,
    extra: {
      ...(user !== undefined && { u: user }),
      ...(group !== undefined && { g: group }),
      ...(links !== undefined && { l: links }),
      ...(x !== undefined && { x }),
      ...(inconsistent && { i: 1 }),
    },
  };
  if (entry.type === "file" || entry.type === "directory") return shown;
  if (entry.type === "link") return { ...shown, content: toHex(entry.target) };
  return { ...shown, content: "major" in entry ? [entry.major, entry.minor] : null };
}

/** Every entry of a snapshot, and what the content of each file hashes to. */
export async function shownTree(snapshot: OpenSnapshot): Promise<ShownEntry[]> {
  const all: ShownEntry[] = [];
  for await (const { entry, path } of snapshot.entries("", { recursive: true })) {
    const shown = shownEntry(entry, path);
    if (entry.type === "file") {
      const hash = createHash("sha256");
      for await (const part of snapshot.content(path)) hash.update(part);
      all.push({ ...shown, sha256: hash.digest("hex") });
    } else {
      all.push(shown);
    }
  }
  return all;
}
