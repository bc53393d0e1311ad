import { describe, expect, test } from "bun:test";
import {
  decodeChildHeader,
  decodeHeader,
  decodeRootHeader,
  encodeChildHeader,
  encodeRootHeader,
} from "../../src/format/envelope.ts";
import { fails } from "./fails.ts";
import { type Item, independentCbor } from "./independent-cbor.ts";

const c = new Uint8Array(32).fill(0xcc);
const e = new Uint8Array(32).fill(0xee);
const slotsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => new Uint8Array(48).fill(i & 255));

function header(entries: Record<string, Item>): Uint8Array {
  return independentCbor(new Map(Object.entries(entries)));
}

test("a child's header is its commitment, in 37 bytes", () => {
  const encoded = encodeChildHeader({ commitment: c });
  expect(Buffer.from(encoded).toString("hex")).toBe(`a161635820${"cc".repeat(32)}`);
  expect(encoded).toHaveLength(37);
  expect(decodeChildHeader(encoded).commitment).toEqual(c);
  expect(decodeHeader(encoded)).toEqual({ commitment: c });
});

test.each([1, 2, 5, 6, 1024])("a root's header has %d wrapped keys", (count) => {
  const slots = slotsOf(count);
  const encoded = encodeRootHeader({ commitment: c, ephemeral: e, slots });
  expect(Buffer.compare(encoded, header({ c, e, w: Buffer.concat(slots) }))).toBe(0);
  expect(decodeRootHeader(encoded)).toEqual({ commitment: c, ephemeral: e, slots });
  expect(decodeHeader(encoded)).toEqual({ commitment: c, ephemeral: e, slots });
  expect(encoded.length).toBeLessThanOrEqual(65_535);
});

const bytes = (length: number) => new Uint8Array(length);
const w = bytes(48);

const malformed: Record<string, Uint8Array> = {
  "no entries": header({}),
  "nothing at all": bytes(0),
  "a commitment of 31 bytes": header({ c: bytes(31) }),
  "a commitment of 33 bytes": header({ c: bytes(33) }),
  "a commitment in text": header({ c: "c".repeat(32) }),
  "an unknown entry": header({ c, x: 0 }),
  "an unknown entry beside a root's": header({ c, e, w, x: 0 }),
  "an unknown entry instead of a root's": header({ c, e, x: w }),
  "an empty key besides": header({ "": 0, c }),
  "no commitment": header({ e, w }),
  "no ephemeral key": header({ c, w }),
  "no wrapped keys": header({ c, e }),
  "an ephemeral key of 31 bytes": header({ c, e: bytes(31), w }),
  "an ephemeral key of 33 bytes": header({ c, e: bytes(33), w }),
  "an ephemeral key that is an integer": header({ c, e: 32, w }),
  "wrapped keys of no bytes": header({ c, e, w: bytes(0) }),
  "wrapped keys of 47 bytes": header({ c, e, w: bytes(47) }),
  "wrapped keys of 49 bytes": header({ c, e, w: bytes(49) }),
  "wrapped keys for 1025 recipients": header({ c, e, w: bytes(48 * 1025) }),
  "wrapped keys in a map": header({ c, e, w: new Map([["w", w]]) }),
  "a commitment in a longer form": Buffer.concat([Buffer.from("a16163590020", "hex"), c]),
  "a trailing byte": Buffer.concat([header({ c }), Buffer.of(0)]),
};

describe("format is the code of", () => {
  test.each(Object.entries(malformed))("%s", (_name, bytes) => {
    for (const decode of [decodeHeader, decodeChildHeader, decodeRootHeader]) {
      fails(() => decode(bytes), "format");
    }
  });

  test("a root in place of a child", () => {
    fails(() => decodeChildHeader(header({ c, e, w })), "format", "a root in place of a child");
  });

  test("a child in place of a root", () => {
    fails(() => decodeRootHeader(header({ c })), "format", "a child of a tree, not a root");
  });
});
