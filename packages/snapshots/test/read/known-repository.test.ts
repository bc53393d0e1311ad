import { describe, expect, test } from "bun:test";
import { answers, toHex } from "../support.ts";
import { all } from "../support/repositories.ts";
import { createHash } from "node:crypto";
import { discoverRepository } from "../../src/repository/discover.ts";
import { memory } from "@idk/storage/memory";
import { openRepository } from "../../src/repository/open.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { parseIdentity } from "@idk/storage";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

const identity = parseIdentity(answers.identity.identity);
const backend = memory();
for (const [address, base64] of Object.entries(answers.repository.blobs)) {
  await backend.put(address, new Uint8Array(Buffer.from(base64, "base64")));
}
for (const marker of answers.repository.markers) await backend.putMarker!(marker);

const TYPES = ["file", "directory", "link", "fifo", "socket", "character-device", "block-device"];

describe("the known repository", () => {
  test("is found with the identity alone, and read to the known tree", async () => {
    const pinned = await discoverRepository({ backend, identity });
    expect(pinned?.repository).toBe(answers.chains.r as never);
    const repository = await openRepository({
      backend,
      identities: [identity],
      pinned: pinned!,
      memory: volatileHeadMemory(),
    });
    expect((await all(repository.heads())).length).toBe(answers.repository.markers.length);
    const found = await resolveSnapshot(repository, answers.repository.snapshotOf);
    expect(await resolveSnapshot(repository, "latest")).toEqual(found);
    const snapshot = await openSnapshot(repository, found);
    const tree = [];
    for await (const { entry, path } of snapshot.entries("", { recursive: true })) {
      const hash = createHash("sha256");
      const isFile = entry.type === "file";
      if (isFile) for await (const part of snapshot.content(path)) hash.update(part);
      tree.push({
        path: `2f${toHex(path)}`,
        type: TYPES.indexOf(entry.type),
        mode: entry.mode,
        mtime: [entry.mtime.seconds, entry.mtime.nanoseconds],
        size: isFile ? entry.size : 0,
        sha256: isFile ? hash.digest("hex") : null,
      });
    }
    const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
    expect(tree.toSorted(byPath)).toEqual([...answers.repository.tree].toSorted(byPath) as never);
  });
});
