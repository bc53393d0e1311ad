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

  test("keeps nothing else that a log would show, if it is not fit", () => {
    const clean = (error: unknown) => Bun.inspect(foreignCause(error));
    for (const error of [
      new AggregateError([new Error(HOSTILE)], "all failed"),
      Object.assign(new Error("m"), { HostId: HOSTILE }),
      Object.assign(new Error("m"), { [HOSTILE]: "x" }),
      Object.assign(new Error("m"), { $response: { body: HOSTILE } }),
      { message: HOSTILE },
      Symbol(HOSTILE),
    ]) {
      expect(clean(error).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
      expect(clean(error)).not.toContain("owned\\u0007");
    }
    const long = Object.assign(new Error("m"), { body: "y".repeat(20_000) });
    expect(clean(long).length).toBeLessThan(10_000);
    const known = Object.assign(new Error("connect failed"), { code: "ECONNREFUSED", errno: -111 });
    expect(foreignCause(known)).toBe(known);
  });

  test("ends for errors that wrap each other in a circle or deeply, and for those that throw", () => {
    const circle = new Error("circle");
    circle.cause = new Error("back", { cause: circle });
    let deep = new Error(HOSTILE);
    for (let i = 0; i < 100_000; i++) deep = new Error("outer", { cause: deep });
    const throwing = Object.defineProperty(new Error("m"), "message", {
      get: () => {
        throw new Error(HOSTILE);
      },
    });
    const wrong = Object.assign(new Error("m"), { stack: 5 });
    for (const error of [circle, deep, throwing, wrong]) {
      let length = 0;
      for (let cause = foreignCause(error); cause instanceof Error; cause = cause.cause)
        length += 1;
      expect(length).toBeGreaterThan(0);
      expect(length).toBeLessThan(10);
    }
  });
});
