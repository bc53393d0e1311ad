import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHeldFolders } from "../../src/get/held-folders.ts";

let around: string;
beforeAll(() => {
  around = realpathSync(mkdtempSync(join(tmpdir(), "idk-held-")));
});
afterAll(() => rmSync(around, { recursive: true }));

function made(name: string): string {
  const path = join(around, name);
  mkdirSync(path);
  return path;
}

const openFolders = (): number => readdirSync("/proc/self/fd").length;

// Elsewhere, the system offers no way to name files in an open folder.
(process.platform === "linux" ? describe : describe.skip)("folders that are held", () => {
  test("are the same for each file, while they are where they were", () => {
    const folder = made("same");
    const folders = createHeldFolders();
    const [one, two] = [folders.hold(folder, folder), folders.hold(folder, folder)];
    expect(one.at("x")).toBe(two.at("x"));
    one.release();
    writeFileSync(two.at("x"), "");
    two.release();
    expect(readdirSync(folder)).toEqual(["x"]);
  });

  test("are refused once they are replaced by a link, and taken again once they are back", () => {
    const [folder, elsewhere] = [made("moved"), made("elsewhere")];
    const folders = createHeldFolders();
    const open = openFolders();
    const before = folders.hold(folder, folder);
    renameSync(folder, join(around, "away"));
    symlinkSync(elsewhere, folder);
    const refused = "was moved or replaced by a link; nothing is written there";
    expect(() => folders.hold(folder, folder)).toThrow(refused);
    writeFileSync(before.at("x"), "");
    before.release();
    expect(readdirSync(join(around, "away"))).toEqual(["x"]);
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(openFolders()).toBe(open);
    rmSync(folder);
    mkdirSync(folder);
    writeFileSync(folders.hold(folder, folder).at("y"), "");
    expect(readdirSync(folder)).toEqual(["y"]);
  });

  test("stay open only if they were used lately", () => {
    const folders = createHeldFolders();
    const busy = made("busy");
    const first = folders.hold(busy, busy);
    const before = openFolders();
    for (let i = 0; i < 100; i++) {
      const folder = made(`many-${i}`);
      folders.hold(folder, folder).release();
    }
    expect(openFolders() - before).toBeLessThan(20);
    writeFileSync(first.at("x"), "");
    expect(readdirSync(busy)).toEqual(["x"]);
  });
});
