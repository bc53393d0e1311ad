import { describe, expect, test } from "bun:test";
import { foreignCause, foreignText } from "../src/text.ts";

const HOSTILE = "\u001B]0;owned\u0007\u009B31m a\u202Eb\u2066c\u200B d\r\n\u2028e\uD800 \u{E0041}f";

describe("foreignText", () => {
  test("is one line without controls, format characters and lone surrogates", () => {
    expect(foreignText(HOSTILE)).toBe("]0;owned 31m a b c d e f");
    expect(foreignText("  Zugriff verweigert: Schlüssel 🔑\t ")).toBe(
      "Zugriff verweigert: Schlüssel 🔑",
    );
  });

  test("is at most 500 characters long, and marks the cut", () => {
    expect(foreignText("x".repeat(500))).toBe("x".repeat(500));
    expect(foreignText("x".repeat(501))).toBe(`${"x".repeat(499)}…`);
    expect(foreignText(`${"x".repeat(498)}🔑🔑`)).toBe(`${"x".repeat(498)}…`);
  });
});

describe("foreignCause", () => {
  test("keeps an error that is fit for a log", () => {
    const error = new Error("fetch failed", { cause: new Error("read ECONNRESET") });
    expect(foreignCause(error)).toBe(error);
    expect(foreignCause(undefined)).toBeUndefined();
  });

  test("cleans the name, message, code and stack, also of wrapped errors", () => {
    const inner = Object.assign(new Error(`${HOSTILE}\n    at evil (\u001B[31m)`), {
      name: `N${HOSTILE}`,
      code: `C${HOSTILE}`,
    });
    const cleaned = foreignCause(new Error("outer", { cause: inner })) as Error;
    const cause = cleaned.cause as Error & { code: string };
    expect(cleaned.message).toBe("outer");
    for (const text of [cause.message, cause.name, cause.code, cause.stack, cleaned.stack]) {
      expect(text!.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    }
    expect(cause.code).toStartWith("C");
    expect(cause.stack).toContain("text.test.ts");
    expect(cause.stack).not.toMatch(/^\s+at evil/mu);
  });

  test("limits a long message", () => {
    const cleaned = foreignCause(new Error("y".repeat(20_000))) as Error;
    expect(cleaned.message).toHaveLength(500);
    expect(cleaned.stack!.length).toBeLessThan(10_000);
  });
});
