import type { Metadata } from "@idk/storage";
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, resolve, sep, win32 } from "node:path";
import { createClaims } from "../../src/get/claims.ts";
import { keptName, PATH_KEY } from "../../src/get/kept-names.ts";
import { openOutputFolder } from "../../src/get/output-folder.ts";
import { foldedName, safeName } from "../../src/get/safe-name.ts";

const A = "a".repeat(64);

const folders = mkdtempSync(join(tmpdir(), "idk-cli-"));
afterAll(() => rmSync(folders, { recursive: true }));
const newFolder = () => mkdtempSync(join(folders, "x"));

/** Parts of hostile names. */
const PIECES: readonly string[] = [
  Array.from("./\\:~ -\0\u0001\u001b\n\r\t\u007f\u0085\u00a0\u200b\u200d\u202e\u2028\ufeff\ufffd"),
  ["\ud800", "é", "e\u0301", "ß", "ﬁ", "İ", "x".repeat(300), "ü".repeat(150), "👩‍👩‍👧‍👦".repeat(30)],
  ["..", "../", "..\\", "//", "C:", "c:\\", "\\\\?\\", "\\\\server\\share", "%2e%2e%2f", ". . . "],
  ["CON", "nul", "Aux.txt", "COM1", "lpt9.tar.gz", "com²", "CONIN$", "a", "b.txt", ".idk-part"],
].flat();
const hostile: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary", maxLength: 400 }),
  fc.string({ unit: "grapheme", maxLength: 100 }),
);
const value = fc.oneof(hostile, fc.nat(), fc.uint8Array());
/** Metadata from an untrusted blob, with values of any type. */
const metadata: fc.Arbitrary<Metadata> = fc
  .record({ name: value, [PATH_KEY]: value }, { requiredKeys: [] })
  .map((given) => given as Metadata);

// oxlint-disable-next-line no-control-regex
const REFUSED = /[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\u202a-\u202e\u2066-\u2069\u2028\u2029]/u;
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³])(?: *\.|$)/iu;

function expectSafe(name: string): void {
  expect(name).not.toBe("");
  expect(name).not.toMatch(/^\.{1,2}$/u);
  expect(name).not.toMatch(REFUSED);
  expect(name).not.toMatch(DEVICE);
  expect(name).not.toMatch(/[. ]$/u);
  expect(name).not.toMatch(/\.idk-part$/iu);
  expect(name.isWellFormed()).toBe(true);
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
  for (const { join, resolve, dirname } of [posix, win32]) {
    expect(dirname(join("folder", name))).toBe("folder");
    expect(dirname(resolve("/folder", name))).toBe(resolve("/folder"));
  }
}

describe("safeName", () => {
  test("returns the name of a file in the folder for any input", () => {
    fc.assert(
      fc.property(hostile, (name) => expectSafe(safeName(name))),
      { numRuns: 3000 },
    );
  });

  test("does not change a safe name", () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const safe = safeName(name);
        expect(safeName(safe)).toBe(safe);
      }),
      { numRuns: 2000 },
    );
    for (const name of ["report.pdf", ".bashrc", "a b", "naïve.txt", "日本.png", "-rf", "x~1"]) {
      expect(safeName(name)).toBe(name);
    }
  });

  test.each([
    ["..", "_"],
    [".", "_"],
    ["", "_"],
    ["\u200b", "_"],
    ["CON", "CON_"],
    ["nul.txt", "nul_.txt"],
    ["com¹", "com¹_"],
    ["C:\\boot.ini", "C_boot.ini"],
    ["a/b", "a_b"],
    ["../../x", "_.._x"],
    ["name. . ", "name"],
    ["x.idk-part", "x.idk-part_"],
    ["evil\u202egpj.exe", "evil_gpj.exe"],
    ["cafe\u0301", "café"],
  ])("%j becomes %j", (name, safe) => {
    expect(safeName(name)).toBe(safe);
  });

  test("truncates long names and keeps the extension", () => {
    const safe = safeName(`${"ü".repeat(5000)}.jpeg`);
    expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(200);
    expect(safeName(`${"x".repeat(500)}.jpeg`)).toMatch(/^x{190,}\.jpeg$/u);
    expect(safe.startsWith("üüü")).toBe(true);
  });
});

describe("keptName", () => {
  test("splits only paths stored by put", () => {
    expect(keptName({ name: "a/b" })).toEqual({ segments: ["a_b"], original: "a/b" });
    expect(keptName({ name: "b", [PATH_KEY]: "a/b" })).toEqual({
      segments: ["a", "b"],
      original: undefined,
    });
    expect(keptName({ [PATH_KEY]: "/etc/../x" })?.segments).toEqual(["etc", "_", "x"]);
    expect(keptName({ [PATH_KEY]: "a\\b/c:d" })?.segments).toEqual(["a_b", "c_d"]);
    expect(keptName({ name: "n", [PATH_KEY]: "./" })?.segments).toEqual(["n"]);
    expect(keptName({ name: "n", [PATH_KEY]: "d/".repeat(100) })?.segments).toEqual(["n"]);
    expect(keptName({})).toBeUndefined();
    expect(keptName({ name: "" })).toBeUndefined();
  });

  test("returns only safe segments", () => {
    fc.assert(
      fc.property(metadata, (given) => {
        for (const segment of keptName(given)?.segments ?? []) expectSafe(segment);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("claims", () => {
  test("distinguish names that some file systems treat as equal", () => {
    const claims = createClaims();
    const claim = (path: string, address = A) => claims.claim(path.split("/"), address).join("/");
    expect(claim("Read me.txt")).toBe("Read me.txt");
    expect(claim("READ ME.TXT", "b".repeat(64))).toBe("READ ME~bbbbbbbb.TXT");
    expect(claim("READ ME.TXT", `${"b".repeat(8)}${"c".repeat(56)}`)).toBe(
      "READ ME~bbbbbbbbcccccccc.TXT",
    );
    expect(claim("café")).toBe("café");
    expect(claim("cafe\u0301", "d".repeat(64))).toBe("cafe\u0301~dddddddd");
    expect(claim("Folder/x")).toBe("Folder/x");
    expect(claim("folder/y")).toBe("Folder/y");
    expect(claim("folder", "e".repeat(64))).toBe("folder~eeeeeeee");
    expect(claim("café/z")).toBe("café~/z");
  });

  test("never assign a path twice", () => {
    const segments = fc.array(fc.constantFrom("a", "A", "b", "a~", "a~aaaaaaaa", "é"), {
      minLength: 1,
      maxLength: 3,
    });
    const digits = fc.constantFrom(A, `${"a".repeat(63)}b`, "b".repeat(64));
    fc.assert(
      fc.property(fc.array(fc.tuple(segments, digits), { maxLength: 30 }), (wanted) => {
        const claims = createClaims();
        const files = new Set<string>();
        const folders = new Set<string>();
        for (const [path, address] of wanted) {
          const folded = claims.claim(path, address).map(foldedName);
          expect(folded).toHaveLength(path.length);
          const whole = folded.join("/");
          expect(files.has(whole) || folders.has(whole)).toBe(false);
          files.add(whole);
          for (let depth = 1; depth < folded.length; depth++) {
            const folder = folded.slice(0, depth).join("/");
            expect(files.has(folder)).toBe(false);
            folders.add(folder);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("an output folder", () => {
  test("contains everything written to it, with any names", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(metadata, { maxLength: 12 }), async (contents) => {
        const around = newFolder();
        writeFileSync(join(around, "outside"), "outside");
        const folder = await openOutputFolder(join(around, "in"), {
          names: true,
          keepHidden: false,
        });
        const root = realpathSync(join(around, "in"));
        const written = new Map<string, string>();
        for (const [index, content] of contents.entries()) {
          const address = `${index}`.padStart(64, "0");
          const { path } = await folder.destinationFor(address, content);
          expect(resolve(path).startsWith(root + sep)).toBe(true);
          // Exclusively: no two share a path.
          writeFileSync(path, address, { flag: "wx" });
          written.set(path, address);
          expect(realpathSync(path).startsWith(root + sep)).toBe(true);
        }
        expect(readdirSync(around).toSorted()).toEqual(["in", "outside"]);
        expect(readFileSync(join(around, "outside"), "utf8")).toBe("outside");
        for (const [path, address] of written) expect(readFileSync(path, "utf8")).toBe(address);
      }),
      { numRuns: 60 },
    );
  });

  test("never writes through a symbolic link", async () => {
    const around = newFolder();
    for (const name of ["elsewhere", "in", "in/real"]) mkdirSync(join(around, name));
    symlinkSync("../elsewhere", join(around, "in/link"));
    symlinkSync("real", join(around, "in/inner"));
    symlinkSync("/nowhere/at/all", join(around, "in/dangling"));
    symlinkSync("../../elsewhere", join(around, "in/real/deep"));
    writeFileSync(join(around, "in/file"), "");
    const folder = await openOutputFolder(join(around, "in"), { names: true, keepHidden: false });
    for (const at of ["link/x", "link/y/x", "inner/x", "dangling/x", "real/deep/x"]) {
      const placed = folder.destinationFor(A, { [PATH_KEY]: at });
      expect(await placed.catch(String)).toContain("is a symbolic link; nothing is written");
    }
    expect(await folder.destinationFor(A, { [PATH_KEY]: "file/x" }).catch(String)).toContain(
      "is not a folder",
    );
    expect(readdirSync(join(around, "elsewhere"))).toEqual([]);
    expect(readdirSync(join(around, "in/real"))).toEqual(["deep"]);
  });

  test("may be reached through a symbolic link", async () => {
    const around = newFolder();
    mkdirSync(join(around, "real"));
    symlinkSync("real", join(around, "link"));
    const folder = await openOutputFolder(join(around, "link"), { names: true, keepHidden: false });
    const { path } = await folder.destinationFor(A, { [PATH_KEY]: "a/b" });
    expect(path).toBe(join(around, "link/a/b"));
    expect(lstatSync(join(around, "real/a")).isDirectory()).toBe(true);
  });

  test("is not created in place of a file", async () => {
    const around = newFolder();
    writeFileSync(join(around, "file"), "as it was");
    for (const at of ["file", "file/in"]) {
      const opened = openOutputFolder(join(around, at), { names: true, keepHidden: false });
      expect(await opened.catch(String)).toContain(`cannot create the folder ${around}/${at}: a `);
    }
    expect(readFileSync(join(around, "file"), "utf8")).toBe("as it was");
  });

  test("uses addresses if names are disabled or absent", async () => {
    const around = newFolder();
    const by = async (names: boolean, content: Metadata) =>
      (
        await (
          await openOutputFolder(around, { names, keepHidden: true })
        ).destinationFor(A, content)
      ).path;
    expect(await by(false, { name: "x", [PATH_KEY]: "y/x" })).toBe(join(around, A));
    expect(await by(true, {})).toBe(join(around, A));
    expect(readdirSync(around)).toEqual([]);
  });
});
