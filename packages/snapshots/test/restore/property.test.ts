import { expect, test } from "bun:test";
import { linkSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { printed, snapshotOf, temporaryBase } from "./support.ts";
import fc from "fast-check";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { restore } from "../../src/restore/restore.ts";

const host = await openHost();
const base = temporaryBase();

/** A number is a file of so many bytes, so that files of one size are equal; text is a link. */
type Item = number | "to-a" | "fifo" | "hard-link" | { readonly [name: string]: Item };

const names = fc.constantFrom("a", "b", "c", "\u{e9}", ".idk-restore-0123456789abcdef");
const { tree } = fc.letrec<{ tree: Record<string, Item>; item: Item }>((tie) => ({
  tree: fc.dictionary(names, tie("item"), { maxKeys: 4 }),
  item: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<Item>(0, 1, 5000, 2 ** 20 + 1),
    fc.constantFrom<Item>("to-a", "fifo", "hard-link"),
    tie("tree"),
  ),
}));

function make(path: string, items: Readonly<Record<string, Item>>, time: number): void {
  mkdirSync(path, { recursive: true });
  let file: string | undefined;
  for (const [name, item] of Object.entries(items)) {
    const at = join(path, name);
    if (item === "to-a") symlinkSync("a", at);
    else if (item === "hard-link" && file !== undefined) linkSync(file, at);
    else if (item === "fifo" || item === "hard-link") {
      const folder = host.openRoot(Buffer.from(path));
      host.makeSpecial(folder, Buffer.from(name), "fifo", 0o644, 0, 0);
      host.close(folder);
    } else if (typeof item === "object") make(at, item, time);
    else {
      writeFileSync(at, Buffer.alloc(item, item % 251));
      utimesSync(at, time, time);
      file = at;
    }
  }
}

test("over any folder, a restore that deletes makes it the snapshot's; a second changes nothing", async () => {
  let run = 0;
  const options = fc.record({
    overwrite: fc.constantFrom("always", "if-changed"),
    workers: fc.constant(0),
    verify: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(tree, tree, fc.boolean(), options, async (wanted, present, isOld, chosen) => {
      run += 1;
      const [source, target] = [join(base, `source-${run}`), join(base, `target-${run}`)];
      make(source, wanted, 1_000_000_000);
      make(target, present, isOld ? 900_000_000 : 1_000_000_000);
      const { opened } = await snapshotOf(host, source);
      const dry = await restore(opened, { target, ...chosen, delete: true, dryRun: true });
      const summary = await restore(opened, { target, ...chosen, delete: true });
      expect(summary.errorList).toEqual([]);
      expect(printed(target)).toEqual(printed(source));
      // A dry run has counted the same, except for names that were joined already.
      expect(dry.files).toBe(summary.files);
      expect(dry.deleted).toBe(summary.deleted);
      const again = await restore(opened, { target, overwrite: "if-changed", delete: true });
      expect(again).toMatchObject({ unchanged: again.files, deleted: 0, bytes: 0 });
      expect(printed(target)).toEqual(printed(source));
      rmSync(source, { recursive: true });
      rmSync(target, { recursive: true });
    }),
    { numRuns: process.env["IDK_TEST_SLOW"] === "1" ? 2000 : 60 },
  );
}, 600_000);
