import { SENTENCE, SENTENCE_FRAMES, decode } from "./encoding-frames.ts";
import { describe, expect, test } from "bun:test";
import { codeOf } from "../../support.ts";

describe.each(["lz4", "zstd"] as const)("a frame of %s is refused", (enc) => {
  const frame = SENTENCE_FRAMES[enc];

  test("that is cut anywhere", async () => {
    for (let length = 0; length < frame.length; length++) {
      const { error } = await decode(enc, frame.subarray(0, length), SENTENCE.length);
      expect([length, codeOf(error)]).toEqual([length, "encoding"]);
    }
  });

  test("with any other byte, unless it changes nothing", async () => {
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
