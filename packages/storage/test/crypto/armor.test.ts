import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { armor, dearmor } from "../../src/crypto/armor.ts";
import {
  isProtectedIdentityFile,
  protectIdentity,
  protectKey,
  readIdentityFile,
} from "../../src/crypto/key-files.ts";
import { identityFromSecretKey, secretKeyOf } from "../../src/crypto/keys.ts";
import { fails, rejects } from "../format/fails.ts";
import { hex, known, unhex } from "./known-answers.ts";

const LABEL = "IDK PROTECTED IDENTITY";
const { passphrase, logN, secretKey } = known.keyfile;
const binary = unhex(known.keyfile.hex);
const text = `-----BEGIN IDK PROTECTED IDENTITY-----
SURLSwEOAAECAwQFBgcICQoLDA0ODwaL8n+T0KhroWigrdch11Orkt7BHDiCwbl8
5tHTrNpcO5l+C8OYM/MvZ2P0+T3Xc7exZlCRsM0DZ/XoLy2tRjGC9/RrLidx8m8t
Psh8bLwY
-----END IDK PROTECTED IDENTITY-----
`;
const lines = text.trimEnd().split("\n");
const bytesOf = (lines: readonly string[] | string) =>
  Uint8Array.from(Buffer.from(typeof lines === "string" ? lines : lines.join("\n"), "latin1"));
const mustNotAsk = () => {
  throw new Error("asked for the passphrase");
};

describe("an armored identity file", () => {
  test("is the binary file in Base64, as another program encodes it", () => {
    expect(Buffer.from(armor(LABEL, binary)).toString("latin1")).toBe(text);
    expect(lines.slice(1, 4).join("")).toBe(Buffer.from(binary).toString("base64"));
    expect(hex(dearmor(LABEL, bytesOf(text)))).toBe(known.keyfile.hex);
  });

  test("is a test vector", () => {
    const file = new URL("../../../../testdata/v1/keyfile-armor-good.json", import.meta.url);
    const vector = JSON.parse(readFileSync(file, "utf8")) as { hex: string; secretKey: string };
    const body = Buffer.from(vector.hex, "hex").toString("latin1");
    expect(body).toStartWith(`${lines[0]}\n`);
    expect(body.split("\n").map((line) => line.length)).toEqual([38, 64, 64, 8, 36, 0]);
  });

  test("is made with the option, and read as the binary file is", async () => {
    const identity = identityFromSecretKey(unhex(secretKey));
    const made = await protectIdentity(identity, passphrase, { logN, armor: true });
    expect(made).toHaveLength(215);
    const shown = Buffer.from(made).toString("latin1");
    expect(shown).toMatch(
      /^-----BEGIN [A-Z ]+-----\n(?:[A-Za-z0-9+/]{64}\n){2}[A-Za-z0-9+/]{8}\n/u,
    );
    for (const file of [made, bytesOf(text)]) {
      expect(isProtectedIdentityFile(file)).toBe(true);
      const [read] = await readIdentityFile(file, passphrase);
      expect(hex(secretKeyOf(read!))).toBe(secretKey);
      await rejects(readIdentityFile(file, "wrong"), "passphrase");
      await rejects(readIdentityFile(file), "usage", "passphrase");
    }
  });

  test.each<[string, string]>([
    ["with CRLF", text.replaceAll("\n", "\r\n")],
    ["without a newline at its end", text.trimEnd()],
    ["with white space before", `\n\r\n \t${text}`],
    ["with white space after", `${text}\n \t\r\n`],
  ])("%s is the same file", async (_name, changed) => {
    expect(isProtectedIdentityFile(bytesOf(changed))).toBe(true);
    expect(await readIdentityFile(bytesOf(changed), passphrase)).toHaveLength(1);
  });

  const [begin = "", first = "", second = "", third = "", end = ""] = lines;
  test.each<[name: string, file: readonly string[] | string, message: string]>([
    ["text before", ["# mine", ...lines], `line 1: only white space may precede ${begin}`],
    ["a byte order mark", `\u00ef\u00bb\u00bf${text}`, "line 1: only white space may precede"],
    ["text after", [...lines, "", "more"], `line 6: only white space may follow ${end}`],
    ["a second file after it", [...lines, ...lines], `line 6: only white space may follow ${end}`],
    ["another label", text.replaceAll("IDENTITY", "WRITER KEY"), `line 1 must be ${begin}`],
    ["a PEM key", text.replaceAll(LABEL, "PRIVATE KEY"), `line 1 must be ${begin}`],
    ["spaces for line ends", lines.join(" "), `line 1 must be ${begin}, with nothing else`],
    ["a space behind BEGIN", [`${begin} `, ...lines.slice(1)], `line 1 must be ${begin}`],
    ["a dash missing", ["", begin.slice(0, -1), ...lines.slice(1)], `line 2 must be ${begin}`],
    ["no END", lines.slice(0, -1), `the line ${end} is missing`],
    ["another END", [...lines.slice(0, -1), "-----END IDK-----"], `the line ${end} is missing`],
    ["only BEGIN", [begin], `the line ${end} is missing`],
    ["nothing between", [begin, end], "has 0 bytes, version 1 has 102"],
    ["a blank line inside", [begin, first, "", second, third, end], "line 3 is not Base64"],
    ["a space inside", [begin, first, `${second} `, third, end], "line 3 is not Base64"],
    ["an indented line", [begin, ` ${first}`, second, third, end], "line 2 is not Base64"],
    [
      "URL characters",
      [begin, first.replace("+", "-"), second, third, end],
      "line 2 is not Base64",
    ],
    ["a lone CR", [begin, `${first}\r${second}`, third, end], "line 2 is not Base64"],
    ["a NUL", [begin, first, `${second.slice(1)}\0`, third, end], "line 3 is not Base64"],
    ["a header", [begin, "Version: 1", "", first, second, third, end], "line 2 is not Base64"],
    ["63 columns", [begin, first, second.slice(1), third, end], "line 3 has 63 characters"],
    ["76 columns", [begin, `${first}${second.slice(0, 12)}`, end], "line 2 has 76 characters"],
    ["one long line", [begin, first + second + third, end], "line 2 has 136 characters"],
    ["a line twice", [begin, first, second, second, third, end], "has 150 bytes"],
    ["a line missing", [begin, first, third, end], "has 54 bytes"],
    ["the last character missing", [begin, first, second, third.slice(1), end], "incomplete"],
    ["padding that is not needed", [begin, first, second, `${third}=`, end], "incomplete"],
    ["padding inside", [begin, `${first.slice(2)}==`, second, third, end], "incomplete"],
    ["bits left over", [begin, first, second, `${third.slice(0, 5)}P==`, end], "not canonical"],
    ["a newline within the data", armored(Buffer.of(...binary, 10)), "has 103 bytes"],
    ["a writer key within", armored(binary.with(3, 0x57)), "damaged or of another version"],
    ["an impossible cost", armored(binary.with(5, 21)), "impossible scrypt cost"],
  ])("with %s is a key error before the passphrase is requested", async (_name, file, message) => {
    const error = await rejects(readIdentityFile(bytesOf(file), mustNotAsk), "key", message);
    expect(error.message).not.toContain("SURLSwEO");
  });

  function armored(data: Uint8Array): string {
    return Buffer.from(armor(LABEL, data)).toString("latin1");
  }

  test.each(["", "-----BEGIN", `-----BEGIN ${LABEL}`, ` x${text}`, "IDK PROTECTED IDENTITY"])(
    "is not recognized by %p",
    (other) => {
      expect(isProtectedIdentityFile(bytesOf(other))).toBe(false);
    },
  );
});

test("armor has one form for each length", () => {
  for (let length = 1; length < 200; length++) {
    const data = new Uint8Array(length).fill(0xff);
    const made = armor("X", data);
    expect(dearmor("X", made)).toEqual(data);
    const body = Buffer.from(made).toString("latin1").split("\n").slice(1, -2);
    expect(body.slice(0, -1).every((line) => line.length === 64)).toBe(true);
    expect(body.at(-1)!.length).toBeWithin(1, 65);
    if (length % 3 === 0) continue;
    // The last character holds bits that have to be zero.
    const last = made.lastIndexOf(length % 3 === 1 ? "w".charCodeAt(0) : "8".charCodeAt(0));
    fails(() => dearmor("X", made.with(last, made[last]! + 1)), "key", "not canonical");
  }
});

test("a key of another kind has a label of its own", async () => {
  const kind = {
    magic: "IDKW",
    context: "writerfile",
    label: "IDK PROTECTED WRITER KEY",
    name: "k",
  };
  const made = await protectKey(kind, unhex(secretKey), passphrase, { logN: 14, armor: true });
  expect(isProtectedIdentityFile(made)).toBe(false);
  await rejects(
    readIdentityFile(made, mustNotAsk),
    "key",
    "line 1 must be -----BEGIN IDK PROTECTED IDENT",
  );
});
