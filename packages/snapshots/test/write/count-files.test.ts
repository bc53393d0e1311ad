import { afterEach, beforeEach, expect, test } from "bun:test";
import { linkSync, mkdirSync, symlinkSync } from "node:fs";
import { type Given, given } from "./support.ts";
import { countFiles } from "../../src/write/count-files.ts";
import { join } from "node:path";

let at: Given;
beforeEach(async () => {
  at = await given();
});
afterEach(() => at.end());

test("what a backup is going to store is counted as the backup counts it", async () => {
  for (let i = 0; i < 100; i += 1) at.write(`folder-${i % 7}/file-${i}`, "x".repeat(i));
  at.write("left-out/large", "x".repeat(10_000));
  at.write("large.tmp", "x".repeat(10_000));
  linkSync(join(at.source, "folder-0/file-0"), join(at.source, "again"));
  symlinkSync("anywhere", join(at.source, "link"));
  mkdirSync(join(at.source, "empty"));
  at.write("large", "x".repeat(10_000));
  at.write("marked/.skip", "");
  at.write("marked/file", "x");
  const options = {
    paths: [Buffer.from(at.source)],
    excludes: ["left-out", "*.tmp"],
    excludeIfPresent: [Buffer.from(".skip")],
    excludeLargerThan: 9999,
  };
  const { files, bytes } = await at.run(options);
  expect(await countFiles(options)).toEqual({ files, bytes });
  expect(files).toBe(103);
});

test("counting leaves turns to others, and ends when it is told to", async () => {
  const folders = Array.from({ length: 10 }, (_, i) => `folder-${i}`);
  for (const folder of folders) for (let i = 0; i < 100; i += 1) at.write(`${folder}/${i}`, "");
  const stop = new AbortController();
  setImmediate(() => stop.abort(new Error("enough")));
  // Often enough that it takes more than one turn.
  const paths = Array.from({ length: 20 }, () => Buffer.from(at.source));
  const counting = Promise.all(paths.map((path) => countFiles({ paths: [path] }, stop.signal)));
  const ended: unknown = await counting.catch((error: unknown) => error);
  expect(String(ended)).toContain("enough");
});
