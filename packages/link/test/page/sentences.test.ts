import { LinkError } from "@idk/link";
import { PageError, formatSize, mayTryAgain, sentenceOf } from "../../page/sentences.ts";
import { expect, test } from "bun:test";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1000, "1 KB"],
  [999_499, "999 KB"],
  [999_500, "1 MB"],
  [104_857_600, "105 MB"],
  [Number.MAX_SAFE_INTEGER, "9.01 PB"],
])("%d bytes are %s", (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

test("a failure is a sentence for readers, without the message of the error", () => {
  const shown = sentenceOf(new LinkError("damaged", "the bytes stored as 1234"));
  expect(shown).toStartWith("A part of this file is damaged");
  expect(sentenceOf(new PageError("Stopped."))).toBe("Stopped.");
  expect(sentenceOf(new TypeError("x is undefined"))).not.toContain("undefined");
});

test("what cannot change is not tried again", () => {
  const codes = ["expired", "key", "malformed", "removed", "unreachable"] as const;
  const again = codes.filter((code) => mayTryAgain(new LinkError(code, "")));
  expect(again).toEqual(["unreachable"]);
});
