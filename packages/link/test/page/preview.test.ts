import { expect, test } from "bun:test";
import { isCalledPicture, recognize } from "../../page/preview.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");

test.each([
  ["image/png", "\x89PNG\r\n\x1a\n\0"],
  ["image/jpeg", "\xff\xd8\xff\xe0"],
  ["image/gif", "GIF89a\x01"],
  ["image/webp", "RIFF\x10\0\0\0WEBPVP8 "],
  ["image/avif", "\0\0\0\x1cftypavif"],
])("recognizes %s by its first bytes", (type, start) => {
  expect(recognize(bytes(start))).toEqual({ kind: "picture", type });
});

test.each([
  ["markup", "<script>1</script>\r\n\t<svg/>"],
  ["what only begins like a picture", "GIF88a"],
])("shows %s as text", (_, text) => {
  expect(recognize(bytes(text))).toEqual({ kind: "text", text });
});

test.each([
  ["nothing", ""],
  ["ill-formed UTF-8", "caf\xe9"],
  ["zeros", "text\0text"],
  ["escape sequences", "\x1b[31mred"],
])("does not show %s", (_, text) => {
  expect(recognize(bytes(text))).toBeUndefined();
});

test("a long file is called a picture by its type or its name", () => {
  expect(isCalledPicture("a.JPG", undefined)).toBe(true);
  expect(isCalledPicture(undefined, "image/avif")).toBe(true);
  expect(isCalledPicture("a.svg", "image/svg+xml")).toBe(false);
  expect(isCalledPicture("png", undefined)).toBe(false);
});
