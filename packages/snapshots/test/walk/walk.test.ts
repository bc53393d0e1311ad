import { type Step, type WalkOptions, walk } from "../../src/walk/walk.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { makeDeep, makeHostile } from "./hostile-folder.ts";
import type { FileType } from "../../src/files/host.ts";
import { compileExcludes } from "../../src/walk/excludes.ts";
import { join } from "node:path";
import { joinPaths, resolvePath } from "../../src/walk/roots.ts";
import { openHost } from "../../src/files/open-host.ts";
import { portableHost } from "../../src/files/portable.ts";
import { tmpdir } from "node:os";

const native = await openHost();
const bytes = (text: string): Uint8Array => Buffer.from(text);
const isLinux = process.platform === "linux";

let base = "";
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "idk-walk-")));
});
afterAll(() => {
  // Deeper than the runtime's own function goes.
  execFileSync("rm", ["-rf", base]);
}, 60_000);

const LETTERS: Readonly<Record<FileType, string>> = {
  file: "f",
  directory: "d",
  link: "l",
  fifo: "p",
  socket: "s",
  "character-device": "c",
  "block-device": "b",
};

/** The paths below a folder, relative to it, as text of one character for each byte. */
function paths(steps: Iterable<Step>, below: string): string[] {
  const stack: string[] = [];
  const found: string[] = [];
  for (const step of steps) {
    if (step.kind === "unreadable") found.push(`? ${Buffer.from(step.path).toString("latin1")}`);
    else if (step.kind === "leave") stack.pop();
    else {
      const name = Buffer.from(step.name).toString("latin1");
      const path = [...stack, name].slice(1).join("/");
      if (path.startsWith(`${below.slice(1)}/`)) found.push(path.slice(below.length));
      if (step.kind === "enter") stack.push(name);
    }
  }
  return found.map((path) => path.replace(`${below.slice(1)}/`, ""));
}

const walked = (folder: string, options?: WalkOptions, host = native): string[] =>
  paths(walk(host, joinPaths([bytes(folder)]), options), folder);

describe.skipIf(!isLinux)("a hostile folder", () => {
  test.each([
    ["native", native],
    ["portable", portableHost()],
  ])("is walked as find prints it: %s", (kind, host) => {
    const folder = join(base, `hostile-${kind}`);
    mkdirSync(folder);
    const open = native.openRoot(bytes(folder));
    makeHostile(native, open);
    native.close(open);

    const format = "%P\\0%y\\0%m\\0%U\\0%G\\0%T@\\0%s\\0%n\\0%i\\0%l\\0";
    const printed = execFileSync("find", [folder, "-mindepth", "1", "-printf", format]);
    const all = printed.toString("latin1").split("\0").slice(0, -1);
    const expected = Array.from({ length: all.length / 10 }, (_, at) =>
      all.slice(at * 10, at * 10 + 10),
    );
    const stack: string[] = [];
    const found: string[] = [];
    const above = folder.split("/").length;
    for (const step of walk(host, joinPaths([bytes(folder)]))) {
      if (step.kind === "unreadable") throw step.error;
      if (step.kind === "leave") {
        stack.pop();
        continue;
      }
      const { name, stat } = step;
      stack.push(Buffer.from(name).toString("latin1"));
      const isLink = stat.type === "link";
      const target = isLink ? Buffer.from(host.readLink(step.folder, name)).toString("latin1") : "";
      const { seconds, nanoseconds } = stat.mtime;
      const total = BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);
      if (stack.length > above) {
        found.push(
          [
            stack.slice(above).join("/"),
            LETTERS[stat.type],
            stat.mode.toString(8),
            stat.uid,
            stat.gid,
            total,
            stat.size,
            stat.links,
            stat.inode,
            target,
          ].join("\t"),
        );
      }
      if (step.kind === "entry") stack.pop();
    }
    // The fraction has ten digits, the last of which is 0, and find prints −0.5 as -1 and a half.
    const times = expected.map((fields) => {
      const [whole = "", fraction = ""] = fields[5]!.split(".");
      fields[5] = String(BigInt(whole) * 1_000_000_000n + BigInt(fraction.slice(0, 9)));
      return fields.join("\t");
    });
    expect(found.length).toBeGreaterThan(500);
    expect(found.toSorted()).toEqual(times.toSorted());
  });

  test("names ascend as bytes in each folder, and a folder's entries come at its name", () => {
    const folder = join(base, "hostile-native", "order");
    expect(walked(folder)).toEqual(["a", "a/x", "a\x01", "a-b", "a.b", "a0"]);
  });

  test.each([
    ["native", native],
    ["portable", portableHost()],
  ])("2,000 levels, with paths that no call takes: %s", (kind, host) => {
    const folder = join(base, `deep-${kind}`);
    mkdirSync(folder);
    const open = native.openRoot(bytes(folder));
    makeDeep(native, open, 2000, new Uint8Array(100).fill(0x64));
    native.close(open);
    let [depth, deepest, left, end] = [0, 0, 0, ""];
    for (const step of walk(host, joinPaths([bytes(folder)]))) {
      if (step.kind === "unreadable") throw step.error;
      if (step.kind === "enter") depth += 1;
      else if (step.kind === "leave") [depth, left] = [depth - 1, left + 1];
      else end = `${depth} ${Buffer.from(step.name).toString()}`;
      deepest = Math.max(deepest, depth);
    }
    const above = folder.split("/").length;
    expect([depth, deepest, left, end]).toEqual([
      0,
      2000 + above,
      2000 + above,
      `${2000 + above} end`,
    ]);
  });
});

describe("given paths", () => {
  test("are joined by absolute paths, links above them resolved, once each", () => {
    const folder = join(base, "given");
    mkdirSync(join(folder, "real/deep"), { recursive: true });
    mkdirSync(join(folder, "other"));
    writeFileSync(join(folder, "real/deep/file"), "");
    writeFileSync(join(folder, "real/not-given"), "");
    symlinkSync("real", join(folder, "link"));
    const given = [
      `${folder}/link/deep`,
      `${folder}/real/deep/file`,
      `${folder}/link`,
      `${folder}/./other/`,
    ];
    const walked = (...each: string[]): string[] =>
      paths(walk(native, joinPaths(each.map((path) => resolvePath(bytes(path))))), folder);
    expect(walked(...given)).toEqual(["link", "other", "real", "real/deep", "real/deep/file"]);
    expect(walked(`${folder}/real/../other`)).toEqual(["other"]);
    symlinkSync("real/deep", join(folder, "far"));
    expect(walked(`${folder}/far/../not-given`)).toEqual(["real", "real/not-given"]);
    const unresolved = [`${folder}/no/such/file`, `${folder}/real/not-given/x`, `${folder}/cut/x`];
    symlinkSync("nowhere", join(folder, "cut"));
    expect(walked(...unresolved)).toEqual(["? cut", "? no", "real", "? real/not-given"]);
    expect(() => walked(`${folder}/no/../other`)).toThrow("ENOENT");
  });

  test("that are gone are reported, and the others walked", () => {
    const folder = join(base, "gone");
    mkdirSync(folder);
    writeFileSync(join(folder, "there"), "");
    const steps = walk(native, joinPaths([bytes(`${folder}/gone`), bytes(`${folder}/there`)]));
    expect(paths(steps, folder)).toEqual(["? gone", "there"]);
  });
});

describe("what is left out", () => {
  test("caches: all but the file that marks them", () => {
    const folder = join(base, "caches");
    for (const name of ["cache/below", "not"]) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(
      join(folder, "cache/CACHEDIR.TAG"),
      "Signature: 8a477f597d28d172789f06886806bc55\n",
    );
    writeFileSync(join(folder, "cache/file"), "");
    writeFileSync(join(folder, "not/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc5\n");
    writeFileSync(join(folder, "not/file"), "");
    expect(walked(folder, { excludeCaches: true })).toEqual([
      "cache",
      "cache/CACHEDIR.TAG",
      "not",
      "not/CACHEDIR.TAG",
      "not/file",
    ]);
    expect(walked(folder)).toContain("cache/below");
  });

  test("what is beside a file of a name, and long files, but no given path", () => {
    const folder = join(base, "marked");
    mkdirSync(join(folder, "out/below"), { recursive: true });
    for (const name of ["out/.skip", "out/file", "out/below/x"])
      writeFileSync(join(folder, name), "");
    writeFileSync(join(folder, "seven"), "1234567");
    writeFileSync(join(folder, "eight"), "12345678");
    const skip = [bytes(".none"), bytes(".skip")];
    expect(walked(folder, { excludeIfPresent: skip, excludeLargerThan: 7 })).toEqual([
      "out",
      "out/.skip",
      "seven",
    ]);
    const given = joinPaths([bytes(join(folder, "eight"))]);
    expect(paths(walk(native, given, { excludeLargerThan: 7 }), folder)).toContain("eight");
  });

  test("what excludes match, with all below, but never a given path", () => {
    const folder = join(base, "excluded");
    mkdirSync(join(folder, "node_modules/x"), { recursive: true });
    for (const name of ["a.o", "keep.o", "b.c"]) writeFileSync(join(folder, name), "");
    const excludes = compileExcludes(["*.o", "!keep.o", "node_modules", "excluded"]);
    expect(walked(folder, { excludes })).toEqual(["b.c", "keep.o"]);
  });

  test.skipIf(!isLinux)("other file systems, whose folders are empty then", () => {
    const steps = walk(native, joinPaths([bytes("/dev")]), { oneFileSystem: true });
    const found = paths(steps, "/dev");
    expect(found).toContain("shm");
    expect(found.filter((path) => path.startsWith("shm/"))).toEqual([]);
  });
});

describe("changes during a walk", () => {
  /** Walks, and runs something when a name is met for the first time. */
  function withChange(folder: string, when: string, change: () => void): string[] {
    function* changed(): Generator<Step> {
      for (const step of walk(native, joinPaths([bytes(folder)]))) {
        if (step.kind === "enter" && Buffer.from(step.name).toString() === when) change();
        yield step;
      }
    }
    return paths(changed(), folder);
  }

  function made(name: string): string {
    const folder = join(base, name);
    mkdirSync(join(folder, "a/b"), { recursive: true });
    for (const file of ["a/b/one", "a/two", "z"]) writeFileSync(join(folder, file), "");
    return folder;
  }

  test("a file that vanishes is left out without a word", () => {
    const folder = made("vanish");
    const found = withChange(folder, "a", () => unlinkSync(join(folder, "a/two")));
    expect(found).toEqual(["a", "a/b", "a/b/one", "z"]);
  });

  test("a folder that vanishes or becomes a link is not followed", () => {
    const folder = made("replaced");
    symlinkSync("/etc", join(folder, "etc"));
    const found = withChange(folder, "a", () => {
      renameSync(join(folder, "a/b"), join(folder, "b"));
      renameSync(join(folder, "etc"), join(folder, "a/b"));
    });
    expect(found).toEqual(["a", "a/b", "a/two", "? etc", "z"].filter((path) => path !== "? etc"));
  });

  test("a folder far above that is moved ends what is in it, and not the walk", () => {
    const folder = made("moved");
    const deep = join(folder, "m", ...Array.from({ length: 100 }, () => "d"));
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(folder, "m/zz"), "");
    mkdirSync(join(deep, "bottom"));
    const found = withChange(folder, "bottom", () =>
      renameSync(join(folder, "m/d/d"), join(folder, "elsewhere")),
    );
    expect(found.filter((path) => path.startsWith("? "))).toEqual([]);
    expect(found.slice(-2)).toEqual(["m/zz", "z"]);
  });

  test("a folder that is nowhere any more ends what is in it, and not the walk", () => {
    const folder = made("nowhere");
    const deep = join(folder, "m", ...Array.from({ length: 100 }, () => "d"), "bottom");
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(folder, "m/d/zz"), "");
    const found = withChange(folder, "bottom", () => {
      renameSync(join(folder, "m/d/d"), join(folder, "elsewhere"));
      renameSync(join(folder, "m/d"), join(folder, "m/e"));
    });
    const path = `? ${folder.slice(1)}/m/d`.replace(`${folder.slice(1)}/`, "");
    expect(found.filter((each) => each.startsWith("? "))).toEqual([path]);
    expect(found).not.toContain("m/d/zz");
    expect(found.at(-1)).toBe("z");
  });

  test("a folder that cannot be listed is reported, and is there", () => {
    const folder = made("closed");
    if (process.getuid?.() === 0) return;
    chmodSync(join(folder, "a"), 0o000);
    expect(walked(folder)).toEqual(["a", "? a", "z"]);
    chmodSync(join(folder, "a"), 0o755);
  });

  test("no descriptor stays open, also after a walk that is ended early", () => {
    const folder = made("open");
    const open = (): number => readdirSync("/proc/self/fd").length;
    const before = isLinux ? open() : 0;
    for (const _ of walk(native, joinPaths([bytes(folder)]))) break;
    walked(folder);
    if (isLinux) expect(open()).toBe(before);
    rmSync(folder, { recursive: true });
  });
});
