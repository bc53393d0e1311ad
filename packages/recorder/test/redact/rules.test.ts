import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { RedactRule } from "../../src/redact/contract.ts";
import { patternMatcher } from "../../src/record/pattern.ts";
import { normalizedName, rankedNames } from "../../src/redact/rules/names.ts";
import { CARD, finished, NO_DEFAULTS, redactedJson, redactedUrl, redactor } from "./support.ts";

describe("rules are checked at start", () => {
  const faults: readonly (readonly [rule: unknown, message: string])[] = [
    ["email", 'redact[0] must be a rule such as { name: "email", action: "hash" }'],
    [null, 'redact[0] must be a rule such as { name: "email", action: "hash" }'],
    [{ action: "mask" }, "redact[0] must have exactly one of header, name and path, got 0"],
    [
      { header: "a", name: "b", action: "mask" },
      "redact[0] must have exactly one of header, name and path, got 2",
    ],
    [{ name: "", action: "mask" }, "redact[0].name must be a text that is not empty"],
    [{ name: 5, action: "mask" }, "redact[0].name must be a text that is not empty"],
    [{ name: "--", action: "mask" }, "redact[0].name needs a letter, a digit or *"],
    [{ name: "a".repeat(501), action: "mask" }, "redact[0].name must have at most 500 characters"],
    [
      { name: "a", action: "hide" },
      "redact[0].action must be drop, mask, hash, replace or truncate",
    ],
    [{ name: "a" }, "redact[0].action must be drop, mask, hash, replace or truncate"],
    [
      { name: "a", action: "mask", rout: "/a" },
      'redact[0] has an unknown key "rout"; keys are header, name, path, route, action, with, length',
    ],
    [{ name: "a", action: "mask", with: "x" }, "redact[0].with needs the action replace"],
    [{ name: "a", action: "mask", length: 1 }, "redact[0].length needs the action truncate"],
    [{ name: "a", action: "replace" }, "redact[0].with must be a text of at most 500 characters"],
    [
      { name: "a", action: "replace", with: "a\nb" },
      "redact[0].with must not have control characters",
    ],
    [{ name: "a", action: "truncate" }, "redact[0].length must be an integer from 0 to 65536"],
    [
      { name: "a", action: "truncate", length: -1 },
      "redact[0].length must be an integer from 0 to 65536",
    ],
    [
      { path: "a..b", action: "mask" },
      "redact[0].path must be names, * or **, separated by single dots",
    ],
    [{ path: "a.b*", action: "mask" }, "redact[0].path can have * or ** only as a whole level"],
    [
      { path: Array.from({ length: 33 }, () => "a").join("."), action: "mask" },
      "redact[0].path must have at most 32 levels",
    ],
    [{ name: "a", route: "", action: "mask" }, "redact[0].route must be a text that is not empty"],
  ];

  test.each(faults)("%j", (rule, message) => {
    expect(() => redactor([rule as RedactRule])).toThrow(
      expect.objectContaining({ name: "StorageError", code: "usage", message }),
    );
  });

  test("and options, too", () => {
    const fault = (options: object): unknown => {
      try {
        redactor([], options);
      } catch (error) {
        return (error as Error).message;
      }
      return "none";
    };
    expect(fault({ hashKey: new Uint8Array(31) })).toBe(
      "hashKey must be a Uint8Array of at least 32 bytes",
    );
    expect(fault({ defaults: { cokies: false } })).toBe(
      'redactDefaults has an unknown key "cokies"; keys are authorization, cookies, apiKeys, names, ' +
        "userinfo, signedUrls, jwts, cardNumbers",
    );
    expect(fault({ defaults: { cookies: 1 } })).toBe(
      "redactDefaults.cookies must be true or false",
    );
    expect(fault({ binaryTypes: ["image"] })).toBe(
      "binaryTypes[0] must be a media type such as image/png or image/*",
    );
    expect(fault({ maxDecodedBytes: 1.5 })).toBe(
      "the limit for bodies must be an integer, 0 or more",
    );
    expect(() => redactor(5 as never)).toThrow("redact must be a list of rules");
    expect(() =>
      redactor(Array.from({ length: 1001 }, () => ({ name: "a", action: "mask" }))),
    ).toThrow("redact has 1001 rules, at most 1000");
  });
});

describe("names", () => {
  test("match regardless of case and separators", () => {
    for (const name of ["X-Api_Key", "xApiKey", "x api.key", "XAPIKEY", "ｘ-ａｐｉ-ｋｅｙ"]) {
      expect(normalizedName(name)).toBe("xapikey");
    }
    expect(normalizedName("Größe-İ")).toBe("größei");
    expect(normalizedName("$_-")).toBe("");
  });

  test("match patterns, in which * is any text", () => {
    const matching = ["token", "*", "tok*", "*ken", "t*n", "*oke*", "t*k*n", "**token**"];
    for (const pattern of matching) expect(patternMatcher(pattern)("token")).toBe(true);
    const others = ["toke", "oken", "x*", "*x", "t*x*n", "token*n", "tok*oken", "*tt*"];
    for (const pattern of others) expect(patternMatcher(pattern)("token")).toBe(false);
  });

  test("are covered by the first rule of those whose patterns match", () => {
    const name = fc.stringMatching(/^[abé]{0,7}$/u);
    const pattern = fc.stringMatching(/^[abé*]{1,5}$/u);
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 6 }), name, (patterns, given) => {
        const ranked = patterns.map((each, index) => ({ pattern: each, rank: index }));
        const first = patterns.findIndex((each) => patternMatcher(each)(given));
        expect(rankedNames(ranked)(given)).toBe(first);
        expect(rankedNames(ranked.toReversed())(given)).toBe(first);
      }),
      { numRuns: 1000 },
    );
  });

  test("of rules may be patterns", () => {
    const rules = [{ name: "*mail*", action: "mask" }] as const;
    expect(redactedJson('{"userEmail":"a","e-mail":"b","male":"c"}', rules)).toBe(
      '{"userEmail":"***","e-mail":"***","male":"c"}',
    );
  });
});

test("a pattern that comes first wins over a name", () => {
  const rules = [
    { name: "*mail", action: "replace", with: "1" },
    { name: "email", action: "replace", with: "2" },
    { name: "e*", action: "replace", with: "3" },
  ] as const;
  expect(redactedJson('{"email":0,"gmail":0,"else":0}', rules)).toBe(
    '{"email":"1","gmail":"1","else":"3"}',
  );
  expect(redactedJson('{"email":0}', rules.slice(1))).toBe('{"email":"2"}');
});

describe("actions", () => {
  const applied = (value: string, rule: Omit<RedactRule, "name">): string | undefined =>
    redactedJson(`{"a":1,"x":${value},"b":2}`, [{ name: "x", ...rule }]);

  test("drop a member with its comma, wherever it is", () => {
    const rules = [{ name: "x", action: "drop" }] as const;
    const cases = [
      ['{"x":1}', "{}"],
      ['{"x":1,"a":2}', '{"a":2}'],
      ['{"a":2,"x":1}', '{"a":2}'],
      ['{"a":2,"x":1,"b":3}', '{"a":2,"b":3}'],
      ['{"x":1,"x":{"y":[1,2]},"a":2,"x":3,"x":4}', '{"a":2}'],
      ['{"x":1,"x":2,"x":3}', "{}"],
      ['{"x":1 , "a":2 , "x":3 }', '{  "a":2  }'],
      ['[{"x":1,"a":{"x":2,"b":1,"x":2}},{"x":1}]', '[{"a":{"b":1}},{}]'],
    ] as const;
    for (const [json, dropped] of cases) expect(redactedJson(json, rules)).toBe(dropped);
  });

  test("drop members whose names are secrets", () => {
    expect(redactedJson(`{"a":{"b":1},"${CARD}":2}`, [{ path: "*", action: "drop" }])).toBe("{}");
    expect(redactedJson(`{"a":1,"${CARD}":{"x":1}}`, [{ path: "**.x", action: "drop" }])).toBe(
      '{"a":1,"***":{}}',
    );
    const second = [{ path: CARD, action: "drop" }] as const;
    expect(redactedJson(`{"a":1,"${CARD}":2,"b":3}`, second)).toBe('{"a":1,"b":3}');
  });

  test("drop items of arrays by path", () => {
    const rules = [
      { path: "list.*.secret", action: "drop" },
      { path: "other.1", action: "drop" },
    ] as const;
    expect(redactedJson('{"list":[{"secret":1,"a":1}],"other":[1,2,3]}', rules)).toBe(
      '{"list":[{"a":1}],"other":[1,3]}',
    );
  });

  test("mask values of any type", () => {
    for (const value of ['"text"', "5", "-1.50e+3", "true", "null", "[1,[2]]", '{"y":{"x":1}}']) {
      expect(applied(value, { action: "mask" })).toBe('{"a":1,"x":"***","b":2}');
    }
  });

  test("hash equal values to equal texts under one key, wherever they are", () => {
    const rules = [{ name: "x", action: "hash" }] as const;
    const hash = /^\{"x":"(hash:[0-9a-f]{32})"\}$/u.exec(
      redactedJson('{"x":"a@b.c"}', rules)!,
    )![1]!;
    expect(redactedJson('{"x":"\\u0061@b.c"}', rules)).toBe(`{"x":"${hash}"}`);
    expect(redactedUrl("/?x=a%40b.c", rules)).toBe(`/?x=${hash}`);
    expect(redactedJson('{"x":"b@b.c"}', rules)).not.toContain(hash);
    const other = { hashKey: new Uint8Array(32).fill(8) };
    expect(redactedJson('{"x":"a@b.c"}', rules, other)).not.toContain(hash);
  });

  test("replace a value by a text", () => {
    expect(applied('{"y":1}', { action: "replace", with: 'a"b' })).toBe(
      '{"a":1,"x":"a\\"b","b":2}',
    );
    expect(redactedUrl("/?x=1", [{ name: "x", action: "replace", with: "a&b" }])).toBe("/?x=a%26b");
  });

  test("truncate a text, without its secrets, and mask what is not one", () => {
    const cases = [
      ['"abcdef"', '"abc…"'],
      ['"abc"', '"abc"'],
      ['"😀😀😀😀"', '"😀😀😀…"'],
      ["12345", '"123…"'],
      ["123", "123"],
      ['["abcdef"]', '"***"'],
      ['{"a":1}', '"***"'],
      [`"${CARD} is it"`, '"***…"'],
    ] as const;
    for (const [value, by] of cases) {
      expect(applied(value, { action: "truncate", length: 3 })).toBe(`{"a":1,"x":${by},"b":2}`);
    }
  });

  test("of the first rule that covers a value win, and rules win over defaults", () => {
    const rules = [
      { path: "a.token", action: "replace", with: "1" },
      { name: "*oken", action: "replace", with: "2" },
      { path: "**", action: "replace", with: "3" },
    ] as const;
    expect(redactedJson('{"a":{"token":5}}', rules)).toBe('"3"');
    expect(redactedJson('{"a":{"token":5},"token":6}', rules.slice(0, 2))).toBe(
      '{"a":{"token":"1"},"token":"2"}',
    );
    expect(redactedJson('{"a":{"token":5},"token":6}', rules.slice(1, 2))).toBe(
      '{"a":{"token":"2"},"token":"2"}',
    );
  });
});

describe("paths", () => {
  const masked = (json: string, path: string): string | undefined =>
    redactedJson(json, [{ path, action: "mask" }], { defaults: NO_DEFAULTS });

  test("are from the root, with * for one level and ** for any number", () => {
    const json = '{"user":{"notes":1,"a":[{"notes":2}]},"notes":3}';
    expect(masked(json, "user.notes")).toBe('{"user":{"notes":"***","a":[{"notes":2}]},"notes":3}');
    expect(masked(json, "*.notes")).toBe('{"user":{"notes":"***","a":[{"notes":2}]},"notes":3}');
    expect(masked(json, "**.notes")).toBe(
      '{"user":{"notes":"***","a":[{"notes":"***"}]},"notes":"***"}',
    );
    expect(masked(json, "user.**.notes")).toBe(
      '{"user":{"notes":"***","a":[{"notes":"***"}]},"notes":3}',
    );
    expect(masked(json, "user.a.*.notes")).toBe(
      '{"user":{"notes":1,"a":[{"notes":"***"}]},"notes":3}',
    );
    expect(masked(json, "user.a.0")).toBe('{"user":{"notes":1,"a":["***"]},"notes":3}');
    expect(masked(json, "user.a.1")).toBe(json);
    expect(masked(json, "user.**")).toBe('{"user":"***","notes":3}');
    expect(masked(json, "**")).toBe('"***"');
    expect(masked("[[1,2],[3,4]]", "*.1")).toBe('[[1,"***"],[3,"***"]]');
  });

  test("match names regardless of case and separators, also escaped ones", () => {
    expect(masked('{"U_ser":{"no-\\u0074es":1}}', "user.notes")).toBe(
      '{"U_ser":{"no-\\u0074es":"***"}}',
    );
  });

  test("cover parameters of queries and forms", () => {
    const rules = [{ path: "user.notes", action: "mask" }] as const;
    expect(redactedUrl("/?user[notes]=1&user.notes=2&notes=3&user[notes][]=4&user=5", rules)).toBe(
      "/?user[notes]=***&user.notes=***&notes=3&user[notes][]=***&user=5",
    );
  });
});

describe("routes", () => {
  const rules = [{ name: "notes", route: "/admin/*", action: "mask" }] as const;
  const at = (url: string, route?: string): string =>
    finished(
      redactor(rules)
        .for({ url, route })
        .headers([["notes", "x"]]),
    )[0]![1];

  test("limit a rule to paths or routes that match", () => {
    expect(at("/admin/users?a=1")).toBe("***");
    expect(at("https://example.com/admin/users#a")).toBe("***");
    expect(at("/Admin/users")).toBe("***");
    expect(at("/%61dmin/users")).toBe("***");
    expect(at("/v1/x", "/admin/:id")).toBe("***");
    expect(at("/public?x=/admin/users")).toBe("x");
    expect(at("/%zz/users")).toBe("x");
  });

  test("may be as many as there are paths", () => {
    const many = Array.from({ length: 12 }, (_, index) => ({
      name: `n${index}`,
      route: `*${index}*`,
      action: "mask" as const,
    }));
    const made = redactor(many);
    for (let index = 0; index < 5000; index++) {
      const [header] = finished(made.for({ url: `/${index}` }).headers([["n11", "x"]]));
      expect(header![1]).toBe(String(index).includes("11") ? "***" : "x");
    }
  });
});
