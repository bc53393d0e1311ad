import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { hasValidChecksum } from "../../src/redact/values/card-numbers.ts";
import { CARD, redactedBody, redactedHeader, redactedUrl, TOKEN } from "./support.ts";

/** Any header is text. */
const text = (value: string): string | undefined => redactedHeader("x-note", value);

/** The beginning of a plain text. */
const cut = (value: string): string | undefined =>
  redactedBody(value, "text/plain", [], { cut: true }).text;

describe("JSON Web Tokens", () => {
  test("are masked anywhere in text", () => {
    for (const [before, after] of [
      ["", ""],
      ["see ", "."],
      ["(", ")"],
      ["x", ""],
      ["/reset/", "/now"],
    ] as const) {
      expect(text(`${before}${TOKEN}${after === "." ? " ." : after}`)).toBe(
        `${before}***${after === "." ? " ." : after}`,
      );
    }
    expect(text(`${TOKEN} ${TOKEN}`)).toBe("*** ***");
  });

  test("are masked however their headers are spaced", () => {
    for (const header of [
      '{ "alg":"HS256"}',
      '{\n"alg":"HS256"}',
      '{\r\n"alg":"HS256"}',
      '{\t"alg":"HS256"}',
      '{  "alg":"HS256"}',
    ]) {
      const token = `${Buffer.from(header).toString("base64url")}.e30.c2lnbmF0dXJl`;
      expect(text(`see ${token}`)).toBe("see ***");
      expect(redactedBody(`["see ${token}"]`, "application/json").text).toBe('["see ***"]');
      expect(cut(`see ${token.slice(0, 9)}`)).toBe("see ***");
    }
  });

  test("are masked if they have no signature, or five parts", () => {
    const [header, payload] = TOKEN.split(".");
    expect(text(`${header}.${payload}.`)).toBe("***");
    expect(text(`${header}.a.b.c.d`)).toBe("***");
  });

  test("are masked if their parts are padded", () => {
    const [header, payload, signature] = TOKEN.split(".");
    for (const token of [
      `${header}=.${payload}=.${signature}=`,
      `${header}==.${payload}==.${signature}==`,
      `${header}.${payload}.${signature}=`,
      `${header}=.${payload}=.`,
    ]) {
      expect(text(token)).toBe("***");
      expect(text(`see ${token} .`)).toBe("see *** .");
      expect(text(encodeURIComponent(token))).toMatch(/^\*\*\*(?:%3D){0,2}$/u);
      expect(redactedUrl(`/?a=${token}&b=1`)).toBe("/?a=***&b=1");
      expect(redactedBody(`{"a":"${token}"}`, "application/json").text).toBe('{"a":"***"}');
      for (let end = 3; end < token.length; end++) {
        expect(cut(`see ${token.slice(0, end)}`)).toBe("see ***");
      }
    }
  });

  test("are masked after words that contain such a beginning", () => {
    for (const word of ["keyJwt.", "hockeyApp.", "eyA.", "eyJ.", "surveyJob.eyJ.", "a.eyJ.b."]) {
      expect(text(`${word}${TOKEN}`)).toBe(`${word}***`);
      expect(cut(`${word}${TOKEN.slice(0, 9)}`)).toBe(`${word}***`);
    }
  });

  test("are not words that only look like their beginning", () => {
    for (const word of [
      "keyJar.name.value",
      "eyJ",
      "eyJhbGciOiJIUzI1NiJ9.a",
      "eyJ.a.b",
      "eyJ=.a=.b=",
    ]) {
      expect(text(word)).toBe(word);
    }
  });

  test("are masked where a cut ended them", () => {
    for (let end = 3; end < TOKEN.length; end++) {
      expect(cut(`see ${TOKEN.slice(0, end)}`)).toBe("see ***");
    }
  });
});

describe("card numbers", () => {
  test("are masked anywhere in text, also in groups", () => {
    for (const number of [
      CARD,
      "4111 1111 1111 1111",
      "4111-1111-1111-1111",
      "3782 822463 10005",
      "378282246310005",
      "6304000000000000",
      "4222222222222",
      "4000000000000000006",
    ]) {
      expect(hasValidChecksum(number.replaceAll(/\D/gu, ""))).toBe(true);
      expect(text(number)).toBe("***");
      expect(text(`card ${number}, 12/27`)).toBe("card ***, 12/27");
      expect(text(`x${number}y`)).toBe("x***y");
      expect(text(`${number} 12`)).toBe("*** 12");
      expect(text(`12 ${number}`)).toBe("12 ***");
    }
  });

  test("are not numbers without a valid checksum, nor times, nor fractions", () => {
    const time = Array.from("0123456789", (digit) => `179000000000${digit}`).find(
      hasValidChecksum,
    )!;
    for (const number of [
      "4111111111111112",
      "4111 1111 1111 1112",
      "411111111111",
      "41111111111111110000",
      time,
      "0.4111111111111111",
      "4111  1111 1111 1111",
    ]) {
      expect(text(`n ${number} m`)).toBe(`n ${number} m`);
    }
  });

  test("are masked where a cut ended them", () => {
    for (const number of [CARD, "4111-1111-1111-1111"]) {
      for (let end = 9; end < number.length; end++) {
        expect(cut(`card ${number.slice(0, end)}`)).toBe("card ***");
      }
    }
    expect(cut("card 411111")).toBe("card 411111");
  });

  test("are exactly those of the definition", () => {
    const groups = fc.array(
      fc.oneof(
        fc.stringMatching(/^\d{1,20}$/u),
        fc.constantFrom(CARD, "4111", "1111", "411111", "a", ".", "x9"),
      ),
      { maxLength: 8 },
    );
    const separators = fc.constantFrom("", " ", "-", "  ", ".", "a");
    fc.assert(
      fc.property(fc.array(fc.tuple(groups, separators), { maxLength: 4 }), (parts) => {
        const given = parts.map(([each, separator]) => each.join(separator)).join(" ");
        expect(text(given)).toBe(slowlyMasked(given));
      }),
      { numRuns: 3000 },
    );
  });
});

/** By trying every part of a text. */
function slowlyMasked(given: string): string {
  const isMasked = Array.from(given, () => false);
  for (let start = 0; start < given.length; start++) {
    for (let end = start + 13; end <= Math.min(given.length, start + 40); end++) {
      if (!isCardNumber(given, start, end)) continue;
      for (let at = start; at < end; at++) isMasked[at] = true;
    }
  }
  return Array.from(given, (character, at) =>
    isMasked[at] ? (isMasked[at - 1] ? "" : "***") : character,
  ).join("");
}

function isCardNumber(given: string, start: number, end: number): boolean {
  const part = given.slice(start, end);
  const groups = part.split(/[ -]/u);
  const digits = groups.join("");
  if (!/^\d{13,19}$/u.test(digits) || groups.some((group) => group.length < 3)) return false;
  // Whole groups only.
  if (/\d/u.test(given[start - 1] ?? "") || /\d/u.test(given[end] ?? "")) return false;
  if (given[start - 1] === "." && /\d/u.test(given[start - 2] ?? "")) return false;
  if (groups.length === 1 && /^1(?:\d{12}|\d{15}|\d{18})$/u.test(digits)) return false;
  return hasValidChecksum(digits);
}

describe("URLs in text", () => {
  test("lose user and password", () => {
    for (const [url, redacted] of [
      ["https://user:pa@ss@example.com/a", "https://***@example.com/a"],
      ["see <postgres://u:p&'q@db:5432/x>", "see <postgres://***@db:5432/x>"],
      ["//u@h", "//***@h"],
      ["///u@h", "///***@h"],
      ["https://example.com/@user", "https://example.com/@user"],
      ["https://example.com?a@b", "https://example.com?a@b"],
      ["a@b // c", "a@b // c"],
    ] as const) {
      expect(text(url)).toBe(redacted);
    }
  });

  test("lose them where a cut ended them", () => {
    expect(cut("at https://user:hunter2")).toBe("at https://***");
    expect(cut("at https://user:hunter2@host")).toBe("at https://***");
    expect(cut("at https://example.com/hunter2")).toBe("at https://example.com/hunter2");
  });

  test("lose the values of parameters that sign them or that a name covers", () => {
    expect(
      text(
        "https://b.example/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20261123&" +
          "X-Amz-Signature=0f00&X-Amz-Expires=60",
      ),
    ).toBe(
      "https://b.example/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=***&" +
        "X-Amz-Signature=***&X-Amz-Expires=60",
    );
    expect(text("https://a.example/c?sv=2026&sig=a%2Bb#access_token=xyz&n=1")).toBe(
      "https://a.example/c?sv=2026&sig=***#access_token=***&n=1",
    );
    expect(text('<a href="/x?amp;token=abc">')).toBe('<a href="/x?amp;token=***">');
    expect(text("/x?a=1&token='a b")).toBe("/x?a=1&token=***");
    expect(text("/x?a=1&token=a'b c")).toBe("/x?a=1&token=*** c");
    expect(text("a=b=c==")).toBe("a=b=c==");
  });

  test("lose secrets that are percent-encoded, also more than once", () => {
    for (const [value, redacted] of [
      [
        "https://a/?redirect=%2Fcb%3Faccess_token%3Dabc",
        "https://a/?redirect=%2Fcb%3Faccess_token%3D***",
      ],
      ["https://a/?u=https%3A%2F%2Fu%3Aabc%40h", "https://a/?u=https:%2F%2F***%40h"],
      ["/login%3Fnext=1%26token%3Dabc", "/login%3Fnext=1%26token%3D***"],
      ["/?card=4111+1111+1111+1111&a=1", "/?card=***&a=1"],
      ["/?card=4111%201111%201111%201111", "/?card=***"],
      [`/?t=${TOKEN.replaceAll(".", "%2E")}`, "/?t=***"],
      ["/?f=%7B%22password%22%3A%22abc%22%7D", "/?f=%7B%22password%22:***"],
      ["/?a=100%&b=%C3%A4+b%2F", "/?a=100%&b=%C3%A4+b%2F"],
    ] as const) {
      expect(text(value)).toBe(redacted);
    }
    for (const space of ["+", "%20", "%22", "%3C"]) {
      for (const value of [`%2Fx%3Ftoken%3Da${space}abc`, `https%3A%2F%2Fu%3Aa${space}abc%40h`]) {
        expect(text(`/?next=${value}&n=1`)).not.toContain("abc");
        expect(text(`/?next=${value}&n=1`)).toContain("&n=1");
        expect(redactedUrl(`/?next=${value}`)).not.toContain("abc");
      }
    }
    let given = "/?token=abc";
    for (let times = 1; times <= 8; times++) {
      given = `/?next=${encodeURIComponent(given)}`;
      expect(text(given)).not.toContain("abc");
      expect(redactedUrl(given)).not.toContain("abc");
    }
  });

  test("keep nothing of userinfo whose encoding hides where it ends", () => {
    expect(text(`https://u:p%2Fabc@h/${TOKEN.replaceAll(".", "%2E")}`)).toBe("https://***@h/***");
  });

  test("lose them where a cut ended an encoded one", () => {
    expect(cut("/?u=https%3A%2F%2Fu%3Aabc")).toBe("/?u=https:%2F%2F***");
    expect(cut("/?card=4111+1111+1111%")).toBe("/?card=***");
  });

  test("lose them where a cut ended them", () => {
    expect(cut("at /?token=ab")).toBe("at /?token=***");
    expect(cut("at /?token=")).toBe("at /?token=");
  });

  test("keep them if the defaults are off, one by one", () => {
    const value = `https://u:p@h/?sig=1&token=2 ${TOKEN} ${CARD}`;
    const withOff = (name: string): string | undefined =>
      redactedHeader("x-note", value, [], { defaults: { [name]: false } });
    expect(withOff("userinfo")).toBe("https://u:p@h/?sig=***&token=*** *** ***");
    expect(withOff("signedUrls")).toBe("https://***@h/?sig=1&token=*** *** ***");
    expect(withOff("names")).toBe("https://***@h/?sig=***&token=2 *** ***");
    expect(withOff("jwts")).toBe(`https://***@h/?sig=***&token=*** ${TOKEN} ***`);
    expect(withOff("cardNumbers")).toBe(`https://***@h/?sig=***&token=*** *** ${CARD}`);
  });
});

describe("values with names", () => {
  test("are masked to the end of the line", () => {
    for (const value of ["a b c", "it's a", "'a' b", '"a" b', ` ${TOKEN} b`]) {
      expect(text(`x password=${value}`)).toBe(`x password=${value.startsWith(" ") ? " " : ""}***`);
    }
    expect(text("x secret=a b\nc=d e")).toBe("x secret=***\nc=d e");
    expect(text("x secret = a b")).toBe("x secret = ***");
    expect(text("x secret =\n\n a b\nc")).toBe("x secret =\n\n ***\nc");
    expect(text("'secret':\r\na b")).toBe("'secret':\r\n***");
    expect(text("/?secret=\na b")).toBe("/?secret=\na b");
    expect(text(`bad: {"password": "a", "b": 1}`)).toBe('bad: {"password": ***');
    expect(text("bad: {'a': {'password':'a'}}")).toBe("bad: {'a': {'password':***");
    expect(text(String.raw`bad: "{\"password\":\"a\"}"`)).toBe(String.raw`bad: "{\"password\":***`);
  });

  test("are found by the last part of a name", () => {
    const email = (value: string): string | undefined =>
      redactedHeader("x-note", value, [{ name: "email", action: "mask" }]);
    for (const name of [
      "user:email",
      "me@email",
      "/cb%3Femail",
      "a%20email",
      "x+email",
      "~email",
    ]) {
      expect(email(`see ${name}=abc`)).toBe(`see ${name}=***`);
    }
    expect(email("user:emails=abc")).toBe("user:emails=abc");
    expect(email("email:user=abc")).toBe("email:user=abc");
  });

  test("stay hashed if they are one word", () => {
    const hash = (value: string): string | undefined =>
      redactedHeader("x-note", value, [{ name: "email", action: "hash" }]);
    const [hashed] = /hash:[0-9a-f]{32}/u.exec(hash("email=me@x")!)!;
    expect(hash("see email=me@x")).toBe(`see email=${hashed}`);
    expect(hash("/?email=me%40x&a=1")).toBe(`/?email=${hashed}&a=1`);
    expect(hash("see email=me@x and more")).toBe("see email=***");
  });
});

describe("the URL of a request", () => {
  test("is redacted in its path, query and fragment", () => {
    for (const [url, redacted] of [
      ["/", "/"],
      ["*", "*"],
      ["", ""],
      ["/a?", "/a?"],
      ["/a?b&c=d&&e=f", "/a?b&c=d&&e=f"],
      [`/reset/${TOKEN}?x=1`, "/reset/***?x=1"],
      [`/reset/${TOKEN.replaceAll(".", "%2E")}`, "/reset/***"],
      ["/c/4111%201111%201111%201111", "/c/***"],
      ["/?card=4111+1111+1111+1111", "/?card=***"],
      [
        "/?next=https%3A%2F%2Fx%2F%3Ftoken%3Dabc%26a%3D1",
        "/?next=https:%2F%2Fx%2F%3Ftoken%3D***%26a%3D1",
      ],
      [
        "/?Access-Token=a&user[passWord]=b&a.session_id=c",
        "/?Access-Token=***&user[passWord]=***&a.session_id=***",
      ],
      ["/?%74oken=a", "/?%74oken=***"],
      ["/?%zz=a&b=%zz&c=1", "/?***=***&b=***&c=1"],
      [`/?${TOKEN}`, "/?***"],
      ["https://u:p@h/p?token=a#id_token=b&x=1", "https://***@h/p?token=***#id_token=***&x=1"],
      ['/?filter={"password":"x","a":1}', "/?filter=%7B%22password%22:%22***%22%2C%22a%22:1%7D"],
      ["/?a=1#top", "/?a=1#top"],
      ["not a url at all", "not a url at all"],
    ] as const) {
      expect(redactedUrl(url)).toBe(redacted);
    }
  });

  test("loses parameters that a rule drops", () => {
    expect(redactedUrl("/?a=1&x=2&b=3", [{ name: "x", action: "drop" }])).toBe("/?a=1&b=3");
    expect(redactedUrl("/?x=2", [{ name: "x", action: "drop" }])).toBe("/?");
  });
});

describe("what takes long to look through is masked as a whole", () => {
  const long = "a".repeat(1025);

  test("parameters and cookies with long names", () => {
    expect(redactedUrl(`/?${long}=hunter2&b=1`)).toBe("/?***=***&b=1");
    expect(redactedUrl(`/?${long.slice(1)}=c&b=1`)).toBe(`/?${long.slice(1)}=c&b=1`);
    const off = { defaults: { cookies: false } };
    expect(redactedHeader("cookie", `${long}=hunter2; b=1`, [], off)).toBe("***=***; b=1");
  });

  test("long names of members that may be secrets", () => {
    const json = (name: string): string | undefined =>
      redactedBody(`{"${name}":1}`, "application/json").text;
    expect(json(`a=${long}`)).toBe('{"***":1}');
    expect(json(`a=${long.slice(3)}`)).toBe(`{"a=${long.slice(3)}":1}`);
    expect(json(long)).toBe(`{"${long}":1}`);
  });

  test("texts with more than 1024 secrets", () => {
    expect(text("/?pin=1 ".repeat(1024))).toBe("/?pin=*** ".repeat(1024));
    expect(text("/?pin=1 ".repeat(1025))).toBe("***");
    expect(text("p%69n%3D1 ".repeat(1025))).toBe("***");
  });
});

test("values are masked after names that are not percent-encoding", () => {
  expect(text("100%password=hunter2")).toBe("100%password=***");
});
