import { describe, expect, test } from "bun:test";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { CARD, captured, finished, redactedBody, redactor, TOKEN } from "./support.ts";

const JSON_TYPE = "application/json";

describe("bodies", () => {
  test("keep size and type, and their text as UTF-8", () => {
    expect(redactedBody('{"ä":1}', "application/json; charset=utf-8")).toEqual({
      size: 8,
      type: "application/json; charset=utf-8",
      text: '{"ä":1}',
    });
    expect(redactedBody('\uFEFF{"a":1}', JSON_TYPE).text).toBe('{"a":1}');
    expect(redactedBody("", JSON_TYPE)).toEqual({ size: 0, type: JSON_TYPE, text: "" });
    expect(redactedBody("", undefined)).toEqual({ size: 0, text: "" });
  });

  test.each([
    ["text/html", "type"],
    ["application/xml", "type"],
    ["text/csv", "type"],
    ["image/png", "type"],
    ["application/octet-stream", "type"],
    ["nonsense", "type"],
    ["", "type"],
    [undefined, "type"],
    ["multipart/form-data; boundary=x", "multipart"],
    ["Multipart/Mixed", "multipart"],
  ])("of the type %p keep only size and type", (type, why) => {
    expect(redactedBody("password=hunter2", type)).toEqual({
      size: 16,
      ...(type === undefined ? {} : { type }),
      why: why as "type",
    });
  });

  test.each([
    "application/json",
    "text/json",
    "application/problem+json",
    "Application/Vnd.API+JSON;version=1",
    "application/x-amz-json-1.1",
    "application/x-www-form-urlencoded",
    "text/plain",
    "text/event-stream",
    "application/x-ndjson",
  ])("that are JSON are redacted as JSON with the type %s", (type) => {
    expect(redactedBody('{"password":"hunter2"}', type).text).toBe('{"password":"***"}');
  });

  test("that are not UTF-8 keep only size and type", () => {
    const latin1 = Buffer.from('{"a":"\u00e4"}', "latin1");
    expect(redactedBody(latin1, JSON_TYPE).why).toBe("encoding");
    expect(redactedBody(latin1, "text/plain").why).toBe("encoding");
    expect(redactedBody(latin1, "text/plain; charset=x-nonsense").why).toBe("encoding");
    expect(redactedBody(Buffer.from('{"a":1}', "utf16le"), JSON_TYPE).why).toBe("broken");
  });

  test("in UTF-16 that their types do not name keep only size and type", () => {
    const secret = Buffer.from("password=hunter2", "utf16le");
    const types = ["text/plain", "text/event-stream", "application/x-www-form-urlencoded"];
    for (const type of types) {
      for (const bytes of [secret, Buffer.from(secret).swap16()]) {
        const omitted = { size: bytes.length, type, why: "encoding" } as const;
        expect(redactedBody(bytes, type)).toEqual(omitted);
        expect(redactedBody(bytes, type, [], { cut: true })).toEqual(omitted);
      }
    }
  });

  test("of other charsets are decoded", () => {
    const type = 'text/plain; charset="ISO-8859-1"';
    expect(redactedBody(Buffer.from("gr\u00fcn", "latin1"), type).text).toBe("grün");
    const utf16 = "application/json; charset=utf-16le";
    const body = Buffer.from('{"token":1}', "utf16le");
    expect(redactedBody(body, utf16).text).toBe('{"token":"***"}');
    expect(redactedBody(body.subarray(0, 5), utf16, [], { cut: true }).text).toBe('{"');
    // ASCII that is declared as UTF-16 is not redacted as what it is.
    for (const charset of ["utf-16le", "UTF-16", "utf-16be", "ucs-2"]) {
      const { text, why } = redactedBody("password=x", `text/plain; charset=${charset}`);
      expect([text, why]).toEqual([undefined, "encoding"]);
    }
    expect(redactedBody('{"token":1}!', utf16).why).toBe("broken");
  });

  test("of binary types that the options name are base64", () => {
    const options = { binaryTypes: ["image/*"] };
    const image = Buffer.from([0, 255, 1]);
    expect(redactedBody(image, "image/png", [], {}, options)).toEqual({
      size: 3,
      type: "image/png",
      base64: "AP8B",
    });
    expect(redactedBody(image, "image/png", [], { cut: true }, options).cut).toBe(true);
    expect(redactedBody(image, "video/mp4", [], {}, options).why).toBe("type");
    const all = { binaryTypes: ["multipart/*"] };
    expect(redactedBody(image, "multipart/mixed", [], {}, all).why).toBe("multipart");
  });

  test("have only size and type if the limit is 0", () => {
    const none = { maxDecodedBytes: 0 };
    expect(redactedBody("{}", JSON_TYPE, [], {}, none).why).toBe("limit");
    expect(redactedBody("", JSON_TYPE, [], { cut: true, size: 5 }, none).why).toBe("limit");
  });

  test("of other types lose secrets in the type, too", () => {
    expect(redactedBody("a", `text/x; name=${TOKEN}`).type).toBe("text/x; name=***");
  });
});

describe("encoded bodies", () => {
  const json = JSON.stringify({ a: "text ".repeat(20), password: "hunter2" });
  const shown = JSON.stringify({ a: "text ".repeat(20), password: "***" });
  const codecs = [
    ["gzip", gzipSync],
    ["X-Gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ] as const;

  test.each(codecs)("with %s are decoded", (encoding, compress) => {
    const bytes = compress(json);
    expect(redactedBody(bytes, JSON_TYPE, [], { encoding })).toEqual({
      size: bytes.length,
      type: JSON_TYPE,
      text: shown,
    });
  });

  test.each(codecs)("with %s are left out if they do not decode", (encoding, compress) => {
    const bytes = compress(json);
    const truncated = bytes.subarray(0, bytes.length - 10);
    const { why } = redactedBody(truncated, JSON_TYPE, [], { encoding });
    // Bun's zstd does not tell that something is missing.
    expect(["encoding", encoding === "zstd" ? "broken" : "encoding"]).toContain(why!);
    expect(redactedBody(Buffer.from(json), JSON_TYPE, [], { encoding }).why).toBe("encoding");
  });

  test.each(codecs)("with %s have a beginning if they were cut", (encoding, compress) => {
    const long = JSON.stringify(Array.from({ length: 5000 }, (_, n) => ({ n, token: `s${n}` })));
    const bytes = compress(long);
    const part = bytes.subarray(0, bytes.length >> 1);
    const body = redactedBody(part, JSON_TYPE, [], { encoding, cut: true });
    expect(body.cut).toBe(true);
    // Brotli and zstd decode whole blocks only.
    if (encoding !== "br" && encoding !== "zstd") expect(body.text!.length).toBeGreaterThan(100);
    expect(body.text).not.toMatch(/"s\d/u);
  });

  test.each(codecs)(
    "with %s that expand beyond the limit have a beginning",
    (encoding, compress) => {
      const bomb = compress(`["${"a".repeat(50_000_000)}"]`);
      const start = process.cpuUsage();
      const body = redactedBody(bomb, JSON_TYPE, [], { encoding });
      expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
      expect(body.cut).toBe(true);
      expect(body.text!.length).toBeLessThanOrEqual(65_536);
    },
  );

  test("in unknown ways keep only size and type", () => {
    for (const encoding of ["compress", "gzip, br", "aes128gcm", "__proto__"]) {
      expect(redactedBody("{}", JSON_TYPE, [], { encoding }).why).toBe("encoding");
    }
    expect(redactedBody("{}", JSON_TYPE, [], { encoding: "identity" }).text).toBe("{}");
  });
});

describe("forms", () => {
  const form = (text: string, more = {}): string | undefined =>
    redactedBody(text, "application/x-www-form-urlencoded", [], more).text;

  test("are redacted by name, and keep what is not", () => {
    expect(form("a=1&password=x+y&user%5Btoken%5D=z&b=%C3%A4+b&c")).toBe(
      "a=1&password=***&user%5Btoken%5D=***&b=%C3%A4+b&c",
    );
    expect(form(`note=see+${TOKEN}&n=${CARD}`)).toBe("note=see%20***&n=***");
    expect(form("payload=%7B%22token%22%3A1%7D")).toBe("payload=%7B%22token%22:%22***%22%7D");
  });

  test("that were cut are redacted, wherever they end", () => {
    const whole = `a=1&password=hunter2&n=4111+1111+1111+1111&t=${TOKEN}&d=%C3%A4%C3%A4`;
    for (let end = 1; end <= whole.length; end++) {
      const text = form(whole.slice(0, end), { cut: true });
      expect(text).not.toContain("hun");
      expect(text).not.toContain("4111+1111");
      expect(text).not.toContain("eyJ");
    }
    expect(form("a=1&b=text", { cut: true })).toBe("a=1&b=text");
    const type = "application/x-www-form-urlencoded";
    const hash = [{ name: "x", action: "hash" }] as const;
    expect(redactedBody("a=1&x=te", type, hash, { cut: true }).text).toBe("a=1&x=***");
  });

  test("that begin like JSON and are none are left out", () => {
    expect(form('{"password":"x"')).toBeUndefined();
  });
});

describe("text", () => {
  const text = (given: string, more = {}): string | undefined =>
    redactedBody(given, "text/plain", [], more).text;

  test("loses what is recognized anywhere, and values of names", () => {
    expect(
      text(`one ${CARD}\npassword: hunter2 x\nuser: me\n"token" = 'abc'\na=1 secret=b c`),
    ).toBe(`one ***\npassword: ***\nuser: me\n"token" = ***\na=1 secret=***`);
    for (const value of ["correct x battery", `${TOKEN} x`, "it's-x", "'it x", "'a' x", '"a" x']) {
      expect(text(`password=${value}\nb`)).toBe("password=***\nb");
      expect(text(`password: ${value}\nb`)).toBe("password: ***\nb");
    }
    expect(text('{ "a": 1, "password":\n "hunter2')).toBe('{ "a": 1, "password":\n "***"');
    expect(text("no notes: here\r\nat all")).toBe("no notes: here\r\nat all");
  });

  test("loses values on the line after their names", () => {
    for (const [given, redacted] of [
      ["a\npassword:\nhunter2\nb", "a\npassword:\n***\nb"],
      ["password:\r\n\r\n  hunter 2\r\nb", "password:\r\n\r\n  ***\r\nb"],
      ["see 'token' =\t\n'hunter2'\nb", "see 'token' =\t\n***\nb"],
      ["token: |\n  hunter2\nb", "token: ***\n  ***\nb"],
      ["a: 1\n**pin**:\n1234\nb", "a: 1\n**pin**:\n***\nb"],
      ["“pin”:\n1234\nb", "“pin”:\n***\nb"],
      ["'pin'          =\n1234\nb", "'pin'          =\n***\nb"],
      ["pin: |2\n  1234\nb", "pin: ***\n  ***\nb"],
      ["pin: >2-\n  1234\nb", "pin: ***\n  ***\nb"],
      ["pin: >+2\n  1234\nb", "pin: ***\n  ***\nb"],
      ["pin: | # note\n  1234\nb", "pin: ***\n  ***\nb"],
      ["pin: !!str |\n  1234\nb", "pin: ***\n  ***\nb"],
      ["pin: &a |\n  1234\nb", "pin: ***\n  ***\nb"],
      ["pin: >- # note\n  1234\nb", "pin: ***\n  ***\nb"],
      ["'pin': # note\n  1234\nb", "'pin': ***\n  ***\nb"],
      ["pin: 1 | 2\nb", "pin: ***\nb"],
      ["see /?pin=&a=1\nb", "see /?pin=***\nb"],
      ["a: | # note\n  1234\nb", "a: | # note\n  1234\nb"],
      ["user:pin:\n1234\nb", "user:pin:\n***\nb"],
      ["password:\ntoken:\nhunter2\nb", "password:\n***\n***\nb"],
      ["note:\nhello\n2 >\n1 -\n", "note:\nhello\n2 >\n1 -\n"],
      ["password:\n", "password:\n"],
      ["'password' =>\n  'hunter2'\nb", "'password' =***\n  ***\nb"],
      ["password =>\nhunter2\nb", "password =***\n***\nb"],
      ["password = |\nhunter2\nb", "password = ***\n***\nb"],
      ["password = >-\nhunter2\nb", "password = ***\n***\nb"],
      ["password => |2\nhunter2\nb", "password =***\n***\nb"],
      ["password :=\nhunter2\nb", "password :***\n***\nb"],
      ["password := \\\nhunter2\nb", "password :***\n***\nb"],
      ["password = \\\nhunter2\nb", "password = ***\n***\nb"],
      ["password: \\\nhunter2\nb", "password: ***\n***\nb"],
      ["password => 'a'\nb", "password =***\nb"],
    ] as const) {
      expect(text(given)).toBe(redacted);
    }
    expect(text("password:\nhun", { cut: true })).toBe("password:\n***");
    expect(text('["password=\\nhunter2\\nb"]')).toBe('["password=\\n***\\nb"]');
  });

  test("loses all lines of a value that are indented deeper than its name", () => {
    const key = [
      "-----BEGIN PRIVATE KEY-----",
      "MC4CAQAwBQYDK2Vw",
      "",
      "-----END PRIVATE KEY-----",
    ];
    const indented = (by: string): string => key.map((line) => line && by + line).join("\r\n");
    const masked = (by: string): string => key.map((line) => line && `${by}***`).join("\r\n");
    const after = "\r\nuser: me";
    expect(text(`secret: |\n${indented("  ")}${after}`)).toBe(
      `secret: ***\n${masked("  ")}${after}`,
    );
    for (const [given, redacted] of [
      ["a:\n  pin: >-\n   1\n    2\n  b: 3", "a:\n  pin: ***\n   ***\n    ***\n  b: 3"],
      ["- pin: |\n    1\n    2\n  b: 3", "- pin: ***\n    ***\n    ***\n  b: 3"],
      ["- pin: |\n    1\n    2\n- b: 3", "- pin: ***\n    ***\n    ***\n- b: 3"],
      ["pin:\n- 1\n- 2\nb: 3", "pin:\n***\n***\nb: 3"],
      ["pin =>\n\t1\n\n\t2\nb", "pin =***\n\t***\n\n\t***\nb"],
      ["pin:\n  a:\n    1\n  b: 2\nc", "pin:\n  ***\n    ***\n  ***\nc"],
      ["pin:\n  token:\n 1\n 2\nb", "pin:\n  ***\n ***\n ***\nb"],
      ["  pin:\n1\n  b", "  pin:\n***\n  b"],
      ["pin:\n1\n  b", "pin:\n***\n  b"],
      ["pin: 1\n  b", "pin: ***\n  b"],
    ] as const) {
      expect(text(given)).toBe(redacted);
    }
    expect(text("pin: |\n  1\n  2", { cut: true })).toBe("pin: ***\n  ***\n  ***");
    const hash = [{ name: "email", action: "hash" }] as const;
    const lines = redactedBody("email: |\n  a\n  b\n", "text/plain", hash).text!.split("\n");
    expect(lines[2]).toBe("  ***");
  });

  test("keeps values of names with more colons than one before a colon", () => {
    const covered = (name: string): string | undefined =>
      redactedBody("urn:a:code: 1", "text/plain", [{ name, action: "mask" }]).text;
    expect(covered("urn:a:code")).toBe("urn:a:code: 1");
    for (const name of ["a:code", "code"]) expect(covered(name)).toBe("urn:a:code: ***");
  });

  test("loses values of names with a colon", () => {
    for (const name of ["a:b:c:pin", "user:pin", "a.b:a.b:pin", "api:key", "password@host"]) {
      expect(text(`${name}: 1234`)).toBe(`${name}: ***`);
      expect(text(`${name}:\n1234`)).toBe(`${name}:\n***`);
    }
  });

  test("keeps hashes of values that are one word", () => {
    const hash = (given: string, type: string, more = {}): string | undefined =>
      redactedBody(given, type, [{ name: "email", action: "hash" }], more).text;
    const hashed = hash('{"email":"me@x"}', "application/json")!.slice(10, -2);
    expect(hashed).toMatch(/^hash:[0-9a-f]{32}$/u);
    for (const before of ["email: ", "email=", "email:\n", "email=\n", "see user.email:\r\n\t"]) {
      expect(hash(`${before}me@x\nb`, "text/plain")).toBe(`${before}${hashed}\nb`);
      expect(hash(`${before}me@x and b\nb`, "text/plain")).toBe(`${before}***\nb`);
      expect(hash(`${before}me@x`, "text/plain", { cut: true })).toBe(`${before}***`);
    }
    // What only looks like a hash is hashed.
    expect(hash(`email=${hashed}`, "text/plain")).not.toContain(hashed);
  });

  test("that only begins like JSON stays text", () => {
    expect(text("[info] password=x y")).toBe("[info] password=***");
    expect(text("{password: 'x'}")).toBe("{password: ***");
  });
});

describe("lines of JSON", () => {
  const lines = (given: string, more = {}) => redactedBody(given, "application/x-ndjson", [], more);

  test("are redacted each for itself", () => {
    expect(lines('{"token":1}\n\n{"a":2}\r\n{"token":3}').text).toBe(
      '{"token":"***"}\n\n{"a":2}\r\n{"token":"***"}',
    );
    expect(redactedBody('\u001e{"token":1}\n', "application/json-seq").text).toBe(
      '\u001e{"token":"***"}\n',
    );
  });

  test("are left out if one is broken, but for the last of a cut", () => {
    expect(lines('{"a":1}\n{"a":').why).toBe("broken");
    expect(lines('{"a":\n{"a":1}', { cut: true }).why).toBe("broken");
    expect(lines('{"a":1}\n{"token":"x', { cut: true }).text).toBe('{"a":1}\n{"token":"***"');
  });
});

describe("server-sent events", () => {
  const events = (given: string, more = {}): string | undefined =>
    redactedBody(given, "text/event-stream", [], more).text;

  test("are redacted in their data", () => {
    const given =
      'event: a\ndata: {"token":1}\n\n:note\ndata: [1,\ndata: {"token":2}]\n\ndata: x\n\n';
    expect(events(given)).toBe(
      'event: a\ndata: {"token":"***"}\n\n:note\ndata: [1,\ndata: {"token":"***"}]\n\ndata: x\n\n',
    );
    expect(events("data: {token: 1}\n\n")).toBe("data: ***\n\n");
    expect(events("data: password: a b\n:otp=1 2\n\n")).toBe("data: password: ***\n:otp=***\n\n");
    expect(events("data: a\r\ndata:b\r\n\r\n")).toBe("data: a\r\ndata:b\r\n\r\n");
    expect(events('data: a\n\ndata: {"token":"x', { cut: true })).toBe(
      'data: a\n\ndata: {"token":"***"',
    );
  });
});

describe("work", () => {
  test("is done in steps, and can be given up", () => {
    const large = JSON.stringify(Array.from({ length: 40_000 }, (_, n) => ({ n, text: "text" })));
    const exchange = redactor([], { maxDecodedBytes: 2 ** 21 }).for({ url: "/" });
    const work = exchange.body(captured(large, JSON_TYPE));
    let steps = 1;
    while (work.next().done !== true) steps += 1;
    expect(steps).toBeGreaterThan(large.length / 40_000);
    const other = exchange.body(captured(large, JSON_TYPE));
    other.next();
    expect(other.return({ size: 0, text: "" }).done).toBe(true);
    expect(finished(exchange.body(captured(large, JSON_TYPE))).text).toBe(large);
  });
});
