import { SENTENCE, SENTENCE_FRAMES, decode } from "./frames.ts";
import { describe, expect, test } from "bun:test";
import { codeOf } from "../../support.ts";

describe.each(["lz4", "zstd"] as const)("rejects a frame of %s", (enc) => {
  const frame = SENTENCE_FRAMES[enc];

  test("truncated at any offset", async () => {
    for (let length = 0; length < frame.length; length++) {
      const { error } = await decode(enc, frame.subarray(0, length), SENTENCE.length);
      expect([length, codeOf(error)]).toEqual([length, "encoding"]);
    }
  });

  test("with any byte changed, unless that has no effect", async () => {
    for (let at = 0; at < frame.length; at++) {
      for (let change = 1; change < 256; change++) {
        const changed = frame.slice();
        changed[at]! ^= change;
        const { bytes, error } = await decode(enc, changed, SENTENCE.length);
        if (error === undefined)
          expect([at, change, bytes]).toEqual([at, change, Buffer.from(SENTENCE)]);
        else expect([at, change, codeOf(error)]).toEqual([at, change, "encoding"]);
      }
    }
  });
});
