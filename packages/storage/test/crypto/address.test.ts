import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import fc from "fast-check";
import { addressOf, arrivingAddress, parseAddress } from "../../src/crypto/address.ts";
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

describe("the address of a blob that arrives in parts", () => {
  const random = (length: number) => new Uint8Array(crypto.randomBytes(length));

  test("is that of the whole, however long they are", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 2 ** 18 }), { maxLength: 8 });
    fc.assert(
      fc.property(lengths, fc.boolean(), (parts, hasRest) => {
        const length = parts.reduce((sum, part) => sum + part, hasRest ? 1000 : 0);
        const buffer = random(length + 7);
        const arriving = arrivingAddress(buffer);
        let at = 0;
        for (const part of [0, ...parts]) arriving.received((at += part));
        expect(arriving.of(length)).toBe(addressOf(buffer.subarray(0, length)));
      }),
      { numRuns: 30 },
    );
  });

  test("is that of what is there if it comes again, different or shorter", () => {
    const buffer = random(2 ** 20);
    const arriving = arrivingAddress(buffer);
    for (const length of [0, 2 ** 16, 2 ** 17]) arriving.received(length);
    buffer.set(random(2 ** 17));
    for (const length of [0, 2 ** 18, 2 ** 19]) arriving.received(length);
    expect(arriving.of(2 ** 19 + 1)).toBe(addressOf(buffer.subarray(0, 2 ** 19 + 1)));
    arriving.received(0);
    arriving.received(2 ** 19);
    expect(arriving.of(100)).toBe(addressOf(buffer.subarray(0, 100)));
  });
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
