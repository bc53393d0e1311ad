import { describe, expect, test } from "bun:test";
import { CARD, redactedBeginning, redactedBody, redactedJson, TOKEN } from "./support.ts";

describe("JSON", () => {
  test("stays as it was written, numbers and white space included", () => {
    for (const json of [
      "{}",
      "[]",
      "0",
      "-0.50",
      "1E+30",
      '"a"',
      "true",
      " \t\r\n null \n",
      '{"a":12345678901234567890.10, "b" : [ 1e5 , -0 ],"":{"":""}}',
      '{"a":"\\u00e9\\ud83d\\ude00\\"\\\\\\/\\b\\f\\n\\r\\t é😀"}',
      '{"__proto__":{"a":1},"constructor":1,"toString":2}',
      "[[[[[[]]]],{}]]",
    ]) {
      expect(redactedJson(json)).toBe(json);
    }
  });

  test("is masked by name at any depth, whatever surrounds it", () => {
    for (const name of [
      "password",
      "userPassword",
      "pass_word",
      "PASSWD",
      "client-secret",
      "access_token",
      "refreshToken",
      "sessionId",
      "cvv",
      "cardCvc",
      "ssn",
      "user_ssn",
      "apiKey",
      "Authorization",
      "Set-Cookie",
      "csrf",
      "_xsrf",
      "auth",
      "jwt",
      "otp",
      "pass",
      "pin",
    ]) {
      expect(redactedJson(`{"${name}":"x"}`)).toBe(`{"${name}":"***"}`);
      expect(redactedJson(`[[{"a":{"${name}" : [{"b":"x"}]}}]]`)).toBe(
        `[[{"a":{"${name}" : "***"}}]]`,
      );
    }
    for (const name of [
      "className",
      "passenger",
      "assigned",
      "cookieConsent",
      "id",
      "spin",
      "author",
      "compass",
    ]) {
      expect(redactedJson(`{"${name}":"x"}`)).toBe(`{"${name}":"x"}`);
    }
  });

  test("is masked where names are escaped", () => {
    expect(redactedJson('{"p\\u0061ssw\\u006frd":"x","\\u0050ASSWORD":"y"}')).toBe(
      '{"p\\u0061ssw\\u006frd":"***","\\u0050ASSWORD":"***"}',
    );
  });

  test("is masked where names occur twice", () => {
    expect(redactedJson('{"token":"x","a":1,"token":"y","token":{"token":"z"}}')).toBe(
      '{"token":"***","a":1,"token":"***","token":"***"}',
    );
  });

  test("is masked after any number of other names that begin in the same way", () => {
    const names = Array.from({ length: 8000 }, (_, number) => `abc${number}`);
    const json = `{${names.map((name) => `"${name}":1,"abc":2`).join()}}`;
    const options = { maxDecodedBytes: 2 ** 20 };
    expect(redactedJson(json, [{ name: "abc", action: "mask" }], options)).toBe(
      json.replaceAll('"abc":2', '"abc":"***"'),
    );
  });

  test("is masked below __proto__", () => {
    expect(redactedJson('{"__proto__":{"token":"x"}}')).toBe('{"__proto__":{"token":"***"}}');
  });

  test("loses secrets in strings, names and numbers", () => {
    expect(redactedJson(`{"a":"see ${TOKEN}","${CARD}":1,"b":${CARD},"c":-${CARD}.5}`)).toBe(
      '{"a":"see ***","***":1,"b":"***","c":"***"}',
    );
    // The shortest token, and one that is too short.
    expect(redactedJson('["eyJaaaaaaaaaaa..","eyJaaaaaaaaaa.."]')).toBe(
      '["***","eyJaaaaaaaaaa.."]',
    );
    expect(redactedJson(`["${TOKEN.replace("e", "\\u0065")}","https:\\/\\/u:p@h"]`)).toBe(
      '["***","https://***@h"]',
    );
    expect(redactedJson('{"url":"https://u:p@h/?token=a","q":"a=1&secret=b"}')).toBe(
      '{"url":"https://***@h/?token=***","q":"a=1&secret=***"}',
    );
    for (const digits of [".000000000", `.${"0".repeat(60)}`, "e-10", "E+0000000000"]) {
      expect(redactedJson(`[${CARD}${digits}]`)).toBe('["***"]');
    }
    expect(redactedJson("[1790000000000,0.4111111111111111,41111111111111112]")).toBe(
      "[1790000000000,0.4111111111111111,41111111111111112]",
    );
  });

  test("is redacted in strings that are JSON themselves", () => {
    const inner = JSON.stringify({ a: 1, password: "x" });
    expect(redactedJson(JSON.stringify({ body: inner }))).toBe(
      JSON.stringify({ body: '{"a":1,"password":"***"}' }),
    );
    expect(redactedJson(JSON.stringify([JSON.stringify([` ${inner}`])]))).toBe(
      JSON.stringify([JSON.stringify([' {"a":1,"password":"***"}'])]),
    );
    const truncated = JSON.stringify([inner.slice(0, inner.length - 3)]);
    expect(redactedJson(truncated)).toBe(JSON.stringify(['{"a":1,"password":"***"']));
    expect(redactedJson('["[not] json","{token=a}"]')).toBe('["[not] json","{token=***"]');
  });

  test("is masked in strings if it is nested more often than it is redacted", () => {
    let given: string = JSON.stringify({ password: "hunter2" });
    for (let times = 1; times <= 8; times++) {
      given = JSON.stringify({ a: given });
      const text = redactedJson(given)!;
      expect(text).not.toContain("hunter2");
      expect(text).toContain("***");
      expect(redactedJson(JSON.stringify([` ${JSON.stringify(given)}`]))).not.toContain("hunter2");
    }
  });

  test("loses values with names in strings, to the end of the line", () => {
    expect(redactedJson('{"m":"x password=a b\\nc=d"}')).toBe('{"m":"x password=***\\nc=d"}');
    expect(redactedJson('{"m":"password=it\'s a"}')).toBe('{"m":"password=***"}');
    expect(redactedJson(`{"m":"{'password':'a' b"}`)).toBe(`{"m":"{'password':***"}`);
    expect(redactedJson('{"m":"/x%3Ftoken%3Da"}')).toBe('{"m":"/x?token=***"}');
  });

  test("is left out if it is broken", () => {
    for (const json of [
      " ",
      "{",
      "[",
      "[1",
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      '"a',
      "tru",
      "truex",
      "nul",
      "[1}",
      '{"a":1]',
      "]",
      "}",
      ",",
      "[,1]",
      "[1,]",
      "[1 2]",
      '{"a":1,}',
      '{,"a":1}',
      '{"a" 1}',
      '{"a"::1}',
      "{a:1}",
      "{'a':1}",
      '{1:"a"}',
      "01",
      "-",
      "-a",
      "1.",
      ".1",
      "+1",
      "1e",
      "1e+",
      "1.e1",
      "0x10",
      "1-2",
      '"a\nb"',
      '"\\x"',
      '"\\u12g4"',
      '"\\u123',
      "NaN",
      "Infinity",
      "{}{}",
      "1 2",
      "[] x",
      "\u00a0[]",
      "{} // note",
      '{"password":"x"',
    ]) {
      expect([json, redactedBody(json, "application/json")]).toEqual([
        json,
        { size: Buffer.byteLength(json), type: "application/json", why: "broken" },
      ]);
    }
  });

  test("has 100,000 levels", () => {
    const deep = 100_000;
    const list = `${"[".repeat(deep)}${"]".repeat(deep)}`;
    const options = { maxDecodedBytes: 10 * deep };
    expect(redactedJson(list, [], options)).toBe(list);
    const nested = `${'{"a":'.repeat(deep)}{"token":1}${"}".repeat(deep)}`;
    expect(redactedJson(nested, [{ path: "**.a.x", action: "mask" }], options)).toBe(
      nested.replace('"token":1', '"token":"***"'),
    );
    const covered = `{"token":${list}}`;
    expect(redactedJson(covered, [], options)).toBe('{"token":"***"}');
    expect(redactedBody("[".repeat(deep), "application/json", [], { cut: true }).cut).toBe(true);
  });

  test("has as many paths as rules and bodies make", () => {
    const rules = Array.from({ length: 12 }, (_, index) => ({
      path: `**.k${index}.*.**.x${index}`,
      action: "mask" as const,
    }));
    let json = "1";
    for (let level = 0; level < 20_000; level++) json = `{"k${(level * 7) % 12}":${json}}`;
    const options = { maxDecodedBytes: 2 ** 20 };
    expect(redactedJson(json, rules, options)).toBe(json);
    expect(redactedJson(`{"k3":{"a":{"x3":5}}}`, rules)).toBe(`{"k3":{"a":{"x3":"***"}}}`);
  });
});

describe("JSON that was cut", () => {
  const secrets = ["hunter2hunter2", CARD, TOKEN, "abc\\u0041\\n😀def", "4111 1111 1111 1111"];
  const json =
    `{"a":[1,true,{"pass\\u0077ord":"${secrets[0]}"}],"card":${CARD},"note":"x ${TOKEN} y",` +
    `"token":{"a":["${secrets[3]}",2]},"url":"https://u:${secrets[0]}@h/?sig=${secrets[0]}&a=1",` +
    `"pin":"${secrets[4]}","é😀":"ü\\u00fc","n":-1.5e3,"z":null}`;

  test("has no secret, wherever it ends", () => {
    const bytes = Buffer.from(json);
    for (let end = 1; end <= bytes.length; end++) {
      const { text, why, cut } = redactedBodyOf(bytes.subarray(0, end));
      expect([end, why, cut]).toEqual([end, undefined, true]);
      expect(text).not.toContain("hunter");
      expect(text).not.toContain("4111111");
      expect(text).not.toContain("4111 1111");
      expect(text).not.toContain("eyJ");
      expect(text).not.toContain("def");
      expect(text).not.toContain("abc");
    }
  });

  test("keeps what comes before the cut", () => {
    expect(redactedBeginning('{"a":1,"b":"some te').text).toBe('{"a":1,"b":"some te');
    expect(redactedBeginning('{"a":1,"b":12').text).toBe('{"a":1,"b":12');
    expect(redactedBeginning('{"a":1,"b":tr').text).toBe('{"a":1,"b":tr');
    expect(redactedBeginning('{"a":"x\\u00').text).toBe('{"a":"x');
    expect(redactedBeginning('{"a":1,"to').text).toBe('{"a":1,"to');
    expect(redactedBeginning("{").text).toBe("{");
  });

  test("masks or drops the value that the cut ended", () => {
    expect(redactedBeginning('{"a":1,"token":"some te').text).toBe('{"a":1,"token":"***"');
    expect(redactedBeginning('{"a":1,"token":{"a":[1,').text).toBe('{"a":1,"token":"***"');
    expect(redactedBeginning('{"a":1,"token":12').text).toBe('{"a":1,"token":"***"');
    expect(redactedBeginning('{"a":1,"token":tr').text).toBe('{"a":1,"token":"***"');
    expect(redactedBeginning('{"a":41111111').text).toBe('{"a":"***"');
    const drop = [{ name: "x", action: "drop" }] as const;
    expect(redactedBeginning('{"a":1,"x":"some te', drop).text).toBe('{"a":1');
    expect(redactedBeginning('{"x":{"a":1,', drop).text).toBe("{");
    const hash = [{ name: "x", action: "hash" }] as const;
    expect(redactedBeginning('{"x":"some te', hash).text).toBe('{"x":"***"');
    expect(redactedBeginning('{"x":"a', [{ path: "**", action: "drop" }])).toEqual({
      size: 7,
      type: "application/json",
      why: "rule",
    });
  });

  test("is left out if it is broken before the cut", () => {
    for (const broken of ["{a", "[1,]", '{"a":tx', '"\\x', "1 2", '{"a":01,'] as const) {
      expect(redactedBeginning(broken).why).toBe("broken");
    }
  });

  test("is whole again if only white space is missing", () => {
    expect(redactedBeginning('{"token":1} ').text).toBe('{"token":"***"} ');
  });

  function redactedBodyOf(bytes: Uint8Array) {
    return redactedBody(bytes, "application/json", [], { cut: true });
  }
});
