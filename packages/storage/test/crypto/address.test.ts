import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import fc from "fast-check";
import { addressOf, parseAddress } from "../../src/crypto/address.ts";
import { fails } from "../format/fails.ts";

const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

test("the address of bytes is their SHA-256 in lowercase hexadecimal digits", () => {
  expect(addressOf(Buffer.from("abc")) as string).toBe(ABC);
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const expected = crypto.createHash("sha256").update(bytes).digest("hex");
      expect(addressOf(bytes) as string).toBe(expected);
      expect(parseAddress(expected) as string).toBe(expected);
    }),
  );
});

describe("usage is the code of", () => {
  test.each<[string, unknown]>([
    ["nothing", ""],
    ["63 digits", ABC.slice(1)],
    ["65 digits", `${ABC}0`],
    ["upper case", ABC.toUpperCase()],
    ["one upper-case digit", `A${ABC.slice(1)}`],
    ["a letter that is no digit", `g${ABC.slice(1)}`],
    ["a wide digit", `\uff11${ABC.slice(1)}`],
    ["a newline after", `${ABC}\n`],
    ["a newline before", `\n${ABC}`],
    ["a space after", `${ABC} `],
    ["two addresses, a line each", `${ABC}\n${ABC}`],
    ["a prefix", `sha256:${ABC}`],
    ["a path", `../${ABC.slice(3)}`],
    ["undefined", undefined],
    ["a list of one address", [ABC]],
    ["an object that looks like one", { toString: () => ABC, length: 64 }],
    ["raw bytes", new Uint8Array(32)],
  ])("%s", (_name, text) => {
    fails(() => parseAddress(text as string), "usage", "64 lowercase hexadecimal digits");
  });
});
