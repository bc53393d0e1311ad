import { contentDisposition, safeFileName } from "../../page/file-name.ts";
import { expect, test } from "bun:test";
import fc from "fast-check";

test.each([
  ["report.pdf", "report.pdf"],
  ["Übung 1.txt", "Übung 1.txt"],
  [undefined, "download"],
  ["", "download"],
  ["...", "download"],
  ["../../etc/passwd", "_.._etc_passwd"],
  ["C:\\Windows\\x.exe", "C_Windows_x.exe"],
  [".bashrc", "bashrc"],
  ["a\r\nSet-Cookie: b", "a_Set-Cookie_ b"],
  ["invoice\u202Efdp.exe", "invoice_fdp.exe"],
  ["con.txt", "_con.txt"],
  ["console.txt", "console.txt"],
  ["lone\uD800.txt", "lone_.txt"],
])("the name %p is saved as %p", (given, safe) => {
  expect(safeFileName(given)).toBe(safe);
});

test("a long name keeps its ending and whole characters", () => {
  const name = safeFileName(`${"😀".repeat(100)}.tar`);
  expect(name).toBe(`${"😀".repeat(49)}.tar`);
  expect(Buffer.byteLength(name)).toBe(200);
});

test("any name gives a header of two spellings, which a browser reads back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (given) => {
      const header = contentDisposition(given);
      const [, plain, extended] =
        /^attachment; filename="([^"\\%]+)"; filename\*=UTF-8''([\w.!#$&+^`|~%-]+)$/u.exec(
          header,
        ) ?? [];
      expect(plain).toMatch(/^[\x20-\x7e]+$/u);
      const name = decodeURIComponent(extended!);
      expect(name).toBe(safeFileName(given));
      expect(name).not.toMatch(/^[.\s]|[/\\:]|[.\s]$/u);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
      expect(new Headers({ "content-disposition": header }).get("content-disposition")).toBe(
        header,
      );
    }),
  );
});
