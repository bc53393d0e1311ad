import { type Given, given } from "./support.ts";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { makeDeep, makeHostile } from "../walk/hostile-folder.ts";
import type { Entry } from "../../src/format/tree/entry.ts";
import { all } from "../support/repositories.ts";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { openHost } from "../../src/files/open-host.ts";

const host = await openHost();
let at: Given;
beforeEach(async () => {
  at = await given();
});
afterEach(() => at.end());

const LETTERS: Readonly<Record<Entry["type"], string>> = {
  file: "f",
  directory: "d",
  link: "l",
  fifo: "p",
  socket: "s",
  "character-device": "c",
  "block-device": "b",
};

test("of everything that a file system takes reads back as find sees it", async () => {
  const folder = host.openRoot(Buffer.from(at.source));
  makeHostile(host, folder);
  host.close(folder);
  const { errors, files } = await at.run();
  expect(errors).toBe(0);
  const snapshot = await at.read();
  const prefix = Buffer.from(`${at.source.slice(1)}/`).toString("latin1");
  const lines: string[] = [];
  const hashes = new Map<string, string>();
  for (const { path, entry } of await all(snapshot.entries("", { recursive: true }))) {
    const text = Buffer.from(path).toString("latin1");
    if (!text.startsWith(prefix)) continue;
    const name = text.slice(prefix.length);
    const { seconds, nanoseconds } = entry.mtime;
    const [size, target] = [
      entry.type === "file" ? entry.size : 0,
      entry.type === "link" ? Buffer.from(entry.target).toString("latin1") : "",
    ];
    lines.push(
      [
        name,
        LETTERS[entry.type],
        entry.mode.toString(8),
        size,
        target,
        `${seconds}.${String(nanoseconds).padStart(9, "0")}`,
      ].join("\0"),
    );
    if (entry.type === "file") hashes.set(name, Buffer.from(entry.hash).toString("hex"));
  }
  const format = String.raw`%P\0%y\0%m\0%s\0%l\0%T@\0`;
  const found = execFileSync("find", [at.source, "-mindepth", "1", "-printf", format], {
    maxBuffer: 2 ** 26,
  });
  const values = found.toString("latin1").split("\0");
  const wanted: string[] = [];
  for (let i = 0; i + 5 < values.length; i += 6) {
    const [name, type, mode, size, target, time] = values.slice(i, i + 6);
    wanted.push(
      [name, type, mode, type === "f" ? size : "0", target, time!.slice(0, -1)].join("\0"),
    );
  }
  expect(lines.toSorted()).toEqual(wanted.toSorted());
  expect(files).toBe(wanted.filter((line) => line.split("\0")[1] !== "d").length);
  for (const [name, hash] of hashes) {
    const path = Buffer.concat([Buffer.from(`${at.source}/`), Buffer.from(name, "latin1")]);
    const bytes = await Bun.file(path.toString())
      .bytes()
      .catch(() => undefined);
    if (bytes !== undefined && !/[^ -~]/u.test(name)) {
      expect(hash).toBe(createHash("sha256").update(bytes).digest("hex"));
    }
  }
  // Nothing of it is read or sent again.
  const id = await at.treeId();
  at.later();
  expect(await at.run()).toMatchObject({ newBytes: 0, changedFiles: 0, newFiles: 0 });
  expect(await at.treeId()).toBe(id);
});

test("2,000 folders deep reads back, and deeper than readers go is left out", async () => {
  const below = (name: string, levels: number): void => {
    const folder = host.openRoot(Buffer.from(at.source));
    host.makeFolder(folder, Buffer.from(name), 0o755);
    const inner = host.openFolder(folder, Buffer.from(name));
    makeDeep(host, inner, levels, Buffer.from("d"));
    host.close(inner);
    host.close(folder);
  };
  below("deep", 2000);
  expect((await at.run()).errors).toBe(0);
  const last = async () => {
    const { totals } = (await at.read()).snapshot;
    return totals.directories;
  };
  const above = at.source.split("/").length - 1;
  expect(await last()).toBe(above + 2001);
  const path = `${at.source.slice(1)}/deep${"/d".repeat(2000)}/end`;
  expect((await (await at.read()).entry(path))?.entry.type).toBe("file");

  below("deeper", 4100);
  at.later();
  const summary = await at.run();
  expect(summary.errors).toBe(1);
  expect(summary.errorList[0]!.error.message).toContain("4096 folders deep");
  expect(await last()).toBe(2001 + 4096);
  const id = await at.treeId();
  at.later();
  await at.run();
  expect(await at.treeId()).toBe(id);
  execFileSync("rm", ["-rf", at.source]);
}, 120_000);
