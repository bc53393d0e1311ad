import { expect, test } from "bun:test";
import { encodeChildHeader, encodeRootHeader, rootOverhead } from "../../src/format/envelope.ts";
import {
  CHILD_BLOB_MAX,
  CHILD_OVERHEAD,
  FANOUT,
  INLINE_MAX,
  METADATA_KEY_MAX,
  METADATA_MAX,
  RECIPIENTS_MAX,
  REFERENCE_LENGTH,
  ROOT_BLOB_MAX,
  ROOT_PLAINTEXT_MAX,
  SLOT_LENGTH,
  PADDED_LENGTH_MAX,
} from "../../src/format/limits.ts";
import { encodedRoot } from "../support.ts";

test("the limits match the format", () => {
  expect({
    CHILD_BLOB_MAX,
    CHILD_OVERHEAD,
    FANOUT,
    INLINE_MAX,
    METADATA_KEY_MAX,
    METADATA_MAX,
    RECIPIENTS_MAX,
    REFERENCE_LENGTH,
    ROOT_BLOB_MAX,
    ROOT_PLAINTEXT_MAX,
    SLOT_LENGTH,
    PADDED_LENGTH_MAX,
  }).toEqual({
    CHILD_BLOB_MAX: 2 ** 24 + 59,
    CHILD_OVERHEAD: 59,
    FANOUT: 4096,
    INLINE_MAX: 1_048_576,
    METADATA_KEY_MAX: 255,
    METADATA_MAX: 65_536,
    RECIPIENTS_MAX: 1024,
    REFERENCE_LENGTH: 64,
    ROOT_BLOB_MAX: 6 + 65_535 + 16 + 2 ** 21,
    ROOT_PLAINTEXT_MAX: 2_097_152,
    SLOT_LENGTH: 48,
    PADDED_LENGTH_MAX: 2 ** 53 - 1,
  });
});

test("a child's overhead is its prefix, header and tag", () => {
  expect(CHILD_OVERHEAD).toBe(
    6 + encodeChildHeader({ commitment: new Uint8Array(32) }).length + 16,
  );
});

test("a root's overhead is its prefix, header and tag, for any number of recipients", () => {
  const key = new Uint8Array(32);
  for (const recipients of [1, 5, 6, RECIPIENTS_MAX]) {
    const slots = Array<Uint8Array>(recipients).fill(new Uint8Array(SLOT_LENGTH));
    const header = encodeRootHeader({ commitment: key, ephemeral: key, slots });
    expect(rootOverhead(recipients)).toBe(6 + header.length + 16);
  }
});

test("a header for the most recipients fits in its 16-bit length", () => {
  const slots = Array<Uint8Array>(RECIPIENTS_MAX).fill(new Uint8Array(SLOT_LENGTH));
  const key = new Uint8Array(32);
  expect(encodeRootHeader({ commitment: key, ephemeral: key, slots }).length).toBeLessThan(65_536);
});

test("the longest inline content with the most metadata fits in a padded root", () => {
  const root = encodedRoot(
    {
      depth: 0,
      chunkLog2: 0,
      contentLength: INLINE_MAX,
      padding: 0,
      metadata: new Map([["t", "x".repeat(METADATA_MAX - 6)]]),
      body: new Uint8Array(INLINE_MAX),
    },
    true,
  );
  expect(root.length).toBeLessThanOrEqual(ROOT_PLAINTEXT_MAX);
});
