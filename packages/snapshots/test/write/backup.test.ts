import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Given, contents, given } from "./support.ts";
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

let at: Given;
beforeEach(async () => {
  at = await given();
  mkdirSync(at.source, { recursive: true });
});
afterEach(() => at.end());

/** What `contents` has to say, by the runtime's own calls. */
function expected(folder: string, below = ""): string[] {
  const lines: string[] = [];
  const line = (path: string): void => {
    const stat = lstatSync(join(folder, path), { bigint: true });
    const [seconds, nanoseconds] = [stat.mtimeNs / 10n ** 9n, stat.mtimeNs % 10n ** 9n];
    const [type, rest] = stat.isDirectory()
      ? ["directory", ""]
      : stat.isSymbolicLink()
        ? ["link", readlinkSync(join(folder, path))]
        : ["file", readFileSync(join(folder, path)).toString("latin1")];
    const size = type === "file" ? stat.size : 0n;
    const mode = (Number(stat.mode) & 0o7777).toString(8);
    lines.push(
      `${path === "" ? "" : `/${path}`} ${type} ${mode} ${size} ${seconds}.${nanoseconds} ${rest}`,
    );
  };
  line(below);
  for (const name of readdirSync(join(folder, below)).toSorted()) {
    const path = below === "" ? name : `${below}/${name}`;
    if (lstatSync(join(folder, path)).isDirectory()) lines.push(...expected(folder, path));
    else line(path);
  }
  return lines;
}

const old = new Date("2001-01-01");
function write(path: string, content: string | Uint8Array): void {
  const whole = join(at.source, path);
  mkdirSync(join(whole, ".."), { recursive: true });
  writeFileSync(whole, content);
  utimesSync(whole, old, old);
}

describe("a backup", () => {
  test("restores to what was backed up", async () => {
    write("a", "hello");
    write("empty", "");
    write("dir/inner/deep", "deep".repeat(1000));
    write("large", Buffer.alloc(3 * 2 ** 20 + 5, "large file "));
    write("holes", Buffer.concat([Buffer.alloc(3 * 2 ** 20), Buffer.from("end")]));
    mkdirSync(join(at.source, "none"));
    symlinkSync("../a", join(at.source, "dir/link"));
    const summary = await at.run();
    expect(summary).toMatchObject({ files: 6, errors: 0, newFiles: 6 });
    expect(await contents(await at.read(), at.source)).toEqual(expected(at.source));
  });
});
