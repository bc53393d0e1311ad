import { expect, test } from "bun:test";
import { isCalledPicture, isTooLarge, recognize } from "../../page/preview.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");

const AVIF =
  "\0\0\0\x14ftypavif\0\0\0\0avif\0\0\0\x52meta\0\0\0\0\0\0\0\x0epitm\0\0\0\0\0\x01" +
  "\0\0\0\x38iprp\0\0\0\x1cipco\0\0\0\x14ispe\0\0\0\0\0\0\x75\x30\0\0\0\x02" +
  "\0\0\0\x14ipma\0\0\0\0\0\0\0\x01\0\x01\x01\x01";

const HEADS = [
  ["image/png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x75\x30\0\0\0\x02"],
  ["image/jpeg", "\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x0b\x08\0\x02\x75\x30"],
  ["image/gif", "GIF89a\x30\x75\x02\0"],
  ["image/webp", "RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x2f\x75\0\x01\0\0"],
  ["image/avif", AVIF],
] as const;

test.each(HEADS)("recognizes %s and its size by its head", (type, head) => {
  const size = { width: 30_000, height: 2 };
  expect(recognize(bytes(head))).toEqual({ kind: "picture", type, size });
});

test.each(HEADS)("does not show %s without a size", (_, head) => {
  expect(recognize(bytes(head.slice(0, -1)))).toBeUndefined();
});

test("does not show a picture without pixels", () => {
  expect(recognize(bytes("GIF89a\0\0\x02\0"))).toBeUndefined();
});

test("a picture of more than 50 megapixels is too large", () => {
  expect(isTooLarge({ width: 50_000_000, height: 1 })).toBe(false);
  expect(isTooLarge({ width: 50_000_001, height: 1 })).toBe(true);
  expect(isTooLarge({ width: 2 ** 32 - 1, height: 2 ** 32 - 1 })).toBe(true);
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
