import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { root, run } from "./projects.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";

// script/idk may have to build the bundle first.
setDefaultTimeout(120_000);

const smoke = join(root, "script/smoke");
const idk = join(root, "script/idk");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-smoke-"));
});

afterAll(() => rm(folder, { recursive: true }));

test("script/smoke accepts the command", async () => {
  const { code, stdout, stderr } = await run([smoke, idk], folder);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toEndWith(`smoke: ${idk} works\n`);
});

test.each([
  [
    "without native libraries",
    '[ "$1" != --version ] || { echo "idk 1.2.3 (NaCl portable)"; exit; }',
    "it does not use the native NaCl",
  ],
  [
    "that returns something else",
    '[ "$1" != get ] || { echo else >copy.txt; exit; }',
    "a small file did not come back unchanged",
  ],
  [
    "that returns something else for large files",
    "case $* in get*large*) echo else >large-copy; exit ;; esac",
    "64 MiB did not come back unchanged",
  ],
  [
    "that lists no snapshot",
    '[ "$1" != snapshots ] || exit 0',
    "snapshots does not list the backup",
  ],
  [
    "that restores nothing",
    '[ "$1" != restore ] || exit 0',
    "restore did not bring back a file unchanged",
  ],
  [
    "without the page that opens links",
    '[ "$1" != link ] || { mkdir page; echo else >page/index.html; exit; }',
    "link --page did not write style.css",
  ],
  ["whose threads fail", "case $* in *--workers*) exit 1 ;; esac", ""],
])("script/smoke rejects a command %s", async (_, line, message) => {
  const command = join(folder, "idk");
  await writeFile(command, `#!/bin/sh\n${line}\nexec "${idk}" "$@"\n`);
  await chmod(command, 0o755);
  const { code, stderr } = await run([smoke, "./idk"], folder);
  expect(code).not.toBe(0);
  expect(stderr).toContain(message);
});
