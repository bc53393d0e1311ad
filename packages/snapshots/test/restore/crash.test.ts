import { expect, test } from "bun:test";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { printed, temporaryBase } from "./support.ts";
import { join } from "node:path";

const base = temporaryBase();
const source = join(base, "source");
mkdirSync(join(source, "d/inner"), { recursive: true });
const names = ["a", "b", "c", "d/e", "d/f", "d/inner/g", "d/inner/h"];
for (const name of names) writeFileSync(join(source, name), `content of ${name}`);
writeFileSync(join(source, "long"), Buffer.alloc(2 ** 20 + 3, 5));
writeFileSync(join(source, "d/longer"), Buffer.alloc(2 ** 22 + 3, 6));
symlinkSync("a", join(source, "link"));
linkSync(join(source, "a"), join(source, "second"));

const OLD = "what was there before";

function run(target: string, overwrite: string, count: number) {
  const script = join(import.meta.dir, "crash-restorer.ts");
  const child = Bun.spawnSync([process.execPath, script, source, target, overwrite, `${count}`]);
  return { signal: child.signalCode, calls: Number(child.stdout.toString()) };
}

/** Makes a target, with older files unless these would be kept. */
function makeTarget(name: string, overwrite: string): string {
  const target = join(base, name);
  mkdirSync(join(target, "d"), { recursive: true });
  if (overwrite === "never") return target;
  for (const old of ["a", "d/e", "d/longer", "link"]) writeFileSync(join(target, old), OLD);
  return target;
}

/** Points at which a restore is killed. */
const POINTS = process.env["IDK_TEST_SLOW"] === "1" ? 50 : 6;

test.each(["never", "if-changed", "always"])(
  "killed at any call and run again, a restore is whole, and no name ever has a part of a file: %s",
  (overwrite) => {
    const { calls } = run(makeTarget(`${overwrite}-all`, overwrite), overwrite, 0);
    expect(calls).toBeGreaterThan(50);
    for (let point = 0; point < POINTS; point += 1) {
      const target = makeTarget(`${overwrite}-${point}`, overwrite);
      const count = 1 + Math.floor(((point + 0.5) * calls) / POINTS);
      expect(run(target, overwrite, count).signal).toBe("SIGKILL");
      for (const line of printed(target, "%P|%y")) {
        const [path, type] = line.split("|");
        if (type !== "f" || path!.includes(".idk-restore-")) continue;
        const content = readFileSync(join(target, path!));
        const isWhole = content.equals(readFileSync(join(source, path!)));
        expect(`${path} ${isWhole || content.toString() === OLD}`).toBe(`${path} true`);
      }
      expect(run(target, overwrite, 0).signal).toBeUndefined();
      expect(printed(target)).toEqual(printed(source));
    }
  },
  1_200_000,
);
