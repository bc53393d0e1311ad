import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { splitEnvelope, writePrefix } from "../../src/format/envelope.ts";
import { fails } from "./fails.ts";

function envelope(header: Uint8Array, body: Uint8Array): Uint8Array {
  const blob = new Uint8Array(6 + header.length + body.length);
  writePrefix(blob, header);
  blob.set(body, 6 + header.length);
  return blob;
}

const header = new Uint8Array(37).fill(0xcc);
const body = new Uint8Array(16).fill(0xbb);
const good = envelope(header, body);

test("a blob starts with IDK, 1 and the length of its header, big-endian", () => {
  const blob = envelope(new Uint8Array(0x0102), body);
  expect(Buffer.from(blob.subarray(0, 6)).toString("hex")).toBe("49444b010102");
});

test("a blob is split into the parts it was written from", () => {
  const parts = fc.tuple(
    fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.constant(new Uint8Array(65_535))),
    fc.uint8Array({ minLength: 16, maxLength: 300 }),
  );
  fc.assert(
    fc.property(parts, ([header, body]) => {
      const blob = envelope(header, body);
      const split = splitEnvelope(blob);
      expect(split.header).toEqual(header);
      expect(split.body).toEqual(body);
      expect(split.prefix).toEqual(blob.subarray(0, 6 + header.length));
      expect(split.body.buffer).toBe(blob.buffer);
    }),
  );
});

describe("format is the code of", () => {
  test("every blob truncated before the end of its tag", () => {
    for (let length = 0; length < good.length; length++) {
      fails(() => splitEnvelope(good.subarray(0, length)), "format");
    }
  });

  test("every other magic", () => {
    for (let at = 0; at < 3; at++) {
      for (let value = 0; value < 256; value++) {
        if (value === good[at]) continue;
        fails(() => splitEnvelope(good.with(at, value)), "format", "start with IDK");
      }
    }
  });

  test("every other version, and the message names it", () => {
    for (let version = 0; version < 256; version++) {
      if (version === 1) continue;
      fails(() => splitEnvelope(good.with(3, version)), "format", `version is ${version} `);
    }
  });

  test.each([
    ["a header past the end", [0, 54], "header is cut off"],
    ["a header far past the end", [0xff, 0xff], "header is cut off"],
    ["a header that leaves 15 bytes for the body", [0, 38], "body is cut off"],
    ["a header that leaves nothing for the body", [0, 53], "body is cut off"],
  ] as const)("%s", (_name, [high, low], message) => {
    fails(() => splitEnvelope(good.with(4, high).with(5, low)), "format", message);
  });
});
