import { compileExcludes, parseExcludeFile, pathText } from "../../src/walk/excludes.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

const matches = (patterns: readonly string[], path: string): boolean | undefined =>
  compileExcludes(patterns)?.matches(path.split("/").filter((part) => part !== ""));

describe("patterns as restic has them", () => {
  test.each([
    // pattern, paths that it matches, paths that it does not match
    ["*.o", ["/a.o", "/x/y/a.o", "/.o"], ["/a.ob", "/a.o/b", "/o"]],
    ["foo", ["/foo", "/x/foo"], ["/foo/bar", "/xfoo", "/fo"]],
    ["/foo", ["/foo"], ["/x/foo"]],
    ["foo/", ["/foo", "/x/foo"], ["/foo/bar"]],
    ["foo/*.c", ["/foo/a.c", "/x/foo/a.c"], ["/foo/x/a.c", "/a.c"]],
    ["/home/*/cache", ["/home/u/cache"], ["/home/cache", "/home/u/v/cache", "/x/home/u/cache"]],
    [
      "/home/**/cache",
      ["/home/cache", "/home/u/cache", "/home/u/v/cache"],
      ["/cache", "/x/home/cache"],
    ],
    ["a/**", ["/a", "/a/b", "/x/a/b/c"], ["/b"]],
    ["**/x/**/y/**/z", ["/x/y/z", "/q/x/r/y/s/t/z"], ["/x/z", "/y/x/z"]],
    ["?", ["/a", "/é", "/😀"], ["/ab", "/x/yz"]],
    ["[a-c]x", ["/ax", "/cx"], ["/dx", "/x"]],
    ["[^a-c]x", ["/dx"], ["/ax", "/x"]],
    ["[]a]", ["/]", "/a"], ["/b"]],
    ["[a-]", ["/a", "/-"], ["/b"]],
    [String.raw`\*`, ["/*"], ["/a"]],
    [String.raw`\!x`, ["/!x"], ["/x"]],
    ["a.c", ["/a.c"], ["/abc"]],
    ["(a|b)+$", ["/(a|b)+$"], ["/a"]],
    ["a\nb", ["/a\nb"], ["/a", "/b"]],
    ["a*b", ["/a\nb"], []],
    ["{a,b}", ["/{a,b}"], ["/a"]],
    ["a-b", ["/a-b"], ["/ab"]],
    ["a[+-]b", ["/a-b", "/a+b"], ["/a,b"]],
  ])("%j", (pattern, matching, others) => {
    for (const path of matching) expect(`${path} ${matches([pattern], path)}`).toBe(`${path} true`);
    for (const path of others) expect(`${path} ${matches([pattern], path)}`).toBe(`${path} false`);
  });

  test("the last that matches decides", () => {
    const patterns = ["*.log", "!keep.log", "/secret/*"];
    expect(matches(patterns, "/a.log")).toBe(true);
    expect(matches(patterns, "/keep.log")).toBe(false);
    expect(matches(patterns, "/secret/keep.log")).toBe(true);
  });

  test("bytes that are not UTF-8 are characters of their own", () => {
    const name = pathText(Uint8Array.of(0x61, 0xff, 0x62));
    expect(name).toHaveLength(3);
    expect(compileExcludes(["a?b"])!.matches([name])).toBe(true);
    expect(compileExcludes(["aÿb"])!.matches([name])).toBe(false);
  });

  test.each([["[a"], ["[b-a]"], [`a\\`], ["!"], ["/"], [""]])("%j is malformed", (pattern) => {
    expect(() => compileExcludes([pattern])).toThrow(RangeError);
  });

  test("a pattern that could try everything ends soon", () => {
    const started = performance.now();
    expect(matches(["**/a/**/a/**/a/**/a/**/b"], "/a".repeat(200))).toBe(false);
    expect(matches(["*".repeat(100)], "x".repeat(255))).toBe(true);
    expect(matches([`${"*-".repeat(20)}*.tmp`], "-".repeat(255))).toBe(false);
    expect(matches([`${"*[!a]".repeat(60)}a`], "-".repeat(255))).toBe(false);
    expect(performance.now() - started).toBeLessThan(1000);
  });

  test("characters agree with a regular expression", () => {
    const sources = {
      "*": ".*",
      "?": ".",
      "[ab]": "[ab]",
      "[!b-é]": "[^b-é]",
      "[^😀]": "[^😀]",
      [String.raw`\*`]: String.raw`\*`,
      a: "a",
      é: "é",
      "😀": "😀",
      "\n": "\n",
    };
    const parts = fc.array(fc.constantFrom(...Object.entries(sources)), {
      minLength: 1,
      maxLength: 8,
    });
    const name = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀", "\n", "*"), minLength: 1 });
    fc.assert(
      fc.property(parts, name, (chosen, text) => {
        const pattern = chosen.map(([part]) => part).join("");
        // Two stars alone are any number of components.
        fc.pre(!/^\*+$/u.test(pattern));
        const source = chosen.map(([, part]) => part).join("");
        expect(matches([pattern], text)).toBe(new RegExp(`^${source}$`, "su").test(text));
      }),
      { numRuns: 2000 },
    );
  });

  test("a file of patterns", () => {
    expect(parseExcludeFile("# comment\n\n  *.o \r\n!a\n")).toEqual(["*.o", "!a"]);
  });
});
