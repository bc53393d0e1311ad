import { describe, expect, test } from "bun:test";
import { differences, printed, snapshotOf, temporaryBase } from "./support.ts";
import { makeDeep, makeHostile } from "../walk/hostile-folder.ts";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { restoreWith } from "../../src/restore/restore.ts";

const host = await openHost();
const base = temporaryBase();
const isLinux = process.platform === "linux";
const isRoot = process.geteuid?.() === 0;

describe.skipIf(!isLinux)("a hostile folder", () => {
  const source = join(base, "hostile");
  mkdirSync(source);
  const folder = host.openRoot(Buffer.from(source));
  makeHostile(host, folder);
  host.close(folder);

  test("is restored as it was, with set-id bits and devices if asked for", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "hostile-all");
    const options = { target, setId: true, devices: true, verify: true };
    const summary = await restoreWith(host, opened, options);
    expect(summary.errorList).toEqual([]);
    expect(summary.warningList).toEqual([]);
    expect(printed(target)).toEqual(printed(source));
    expect(differences(`${source}/names`, `${target}/names`)).toBe("");
    expect(differences(`${source}/links`, `${target}/links`)).toBe("");
    const holes = statSync(join(target, "special/holes"));
    expect(holes.size).toBe(20 * 2 ** 20);
    expect(holes.blocks * 512).toBeLessThan(2 ** 21);
  });
});
void [makeDeep, isRoot];
