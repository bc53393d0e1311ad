import type { Metadata } from "../../packages/storage/src/index.ts";
import { createClaims } from "../../packages/cli/src/get/claims.ts";
import { keptName, PATH_KEY } from "../../packages/cli/src/get/kept-names.ts";
import { foldedName } from "../../packages/cli/src/get/safe-name.ts";
import { printable, redact, toJson } from "../../packages/cli/src/output/text.ts";
import { win32 } from "node:path";
import { expect } from "bun:test";
import { type Draw, HOSTILE, mutatedText } from "./draw.ts";
import { fuzz, outcomes } from "./fuzz.ts";

/*
 * Whatever metadata says, a file gets a name inside its folder that every system accepts and no other
 * file has, and what a terminal shows is one line of text.
 */

const ended = outcomes("names", { kept: 0.05, changed: 0.3, "no name": 0.01 });

const WORDS = [
  ..."con PRN Aux nul com1 LPT9.tar.gz clock$ conin$ .git .envrc .idk-part a.IDK-PART ~ $HOME".split(
    " ",
  ),
  "a".repeat(300),
  "ﬁ".repeat(120),
  "👩‍👩‍👧‍👦".repeat(20),
  "e" + "\u0301".repeat(200),
  ". . .",
  "name.",
  "name ",
  "İ",
  "ß",
  "K",
  "C:\\Windows",
  "\\\\server\\share",
  "file:stream",
  "IDK-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQ",
  "\u001b[31m",
  "\u001b]8;;https://example.com\u0007",
  ...HOSTILE,
];
/** What Windows, macOS and Linux do not accept, and what a person does not see. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\p{Cs}]/u;
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu;
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

fuzz("names", async (draw) => {
  const claims = createClaims();
  const taken = new Set<string>();
  for (let files = 1 + draw.upTo(3); files > 0; files--) {
    const metadata = drawMetadata(draw);
    const name = keptName(metadata);
    expectPrintable(metadata);
    if (name === undefined) {
      ended("no name");
      continue;
    }
    ended(name.original === undefined ? "kept" : "changed");
    const address = Buffer.from(draw.bytes(32)).toString("hex");
    for (const segments of [name.segments, claims.claim(name.segments, address)]) {
      expect(segments.length).toBeGreaterThan(0);
      for (const segment of segments) expectSafe(segment);
      // Joined, it stays in the folder on every system.
      const joined = win32.join("C:\\out", ...segments);
      expect(joined.split("\\").slice(0, 2)).toEqual(["C:", "out"]);
      expect(joined.split("\\").length).toBe(2 + segments.length);
    }
    const claimed = claims.claim(name.segments, address).map(foldedName).join("/");
    expect(taken.has(claimed)).toBe(false);
    taken.add(claimed);
  }
});

function drawMetadata(draw: Draw): Metadata {
  const text = () => {
    let name = draw.pick(["report.txt", "a/b/c.txt", "archive.tar.gz", "", ...WORDS]);
    for (let changes = draw.upTo(3); changes > 0; changes--) name = mutatedText(draw, name, WORDS);
    return name;
  };
  // As the library makes it.
  const metadata = Object.create(null) as Record<string, Metadata[string]>;
  metadata["name"] = text();
  if (draw.oneIn(2))
    metadata[PATH_KEY] = draw.oneIn(9) ? 7 : Array.from({ length: draw.upTo(5) }, text).join("/");
  if (draw.oneIn(4))
    metadata[text()] = draw.pick<NonNullable<Metadata[string]>>([text(), 5, draw.bytes(4)]);
  return metadata;
}

function expectSafe(segment: string): void {
  if (
    segment === "" ||
    /^\.+$/u.test(segment) ||
    FORBIDDEN.test(segment) ||
    DEVICE.test(segment) ||
    /[. ]$/u.test(segment) ||
    /\.idk-part$/iu.test(segment) ||
    Buffer.byteLength(segment) > 255
  ) {
    throw new Error(`unsafe name: ${JSON.stringify(segment)}`);
  }
}

function expectPrintable(metadata: Metadata): void {
  for (const value of Object.values(metadata)) {
    if (typeof value === "string" && UNSAFE.test(printable(value))) {
      throw new Error(`not printable: ${JSON.stringify(value)}`);
    }
    if (typeof value === "string" && /idk-secret-key-1[0-9a-z]/iu.test(redact(value))) {
      throw new Error("a secret key is printed");
    }
  }
  const json = toJson(metadata);
  if (UNSAFE.test(json)) throw new Error(`not printable: ${JSON.stringify(json)}`);
  // The value is the same, up to lone surrogates, which no UTF-8 has.
  const read = JSON.parse(json) as Metadata;
  expect(Object.keys(read)).toEqual(Object.keys(metadata));
  const { name } = metadata;
  if (typeof name === "string") expect(read["name"]).toBe(name);
}
