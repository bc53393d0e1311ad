import { describe, expect, test } from "bun:test";
import { finished, redactedHeader, redactor, TOKEN } from "./support.ts";

describe("headers", () => {
  test("keep only the scheme of Authorization", () => {
    for (const name of ["Authorization", "proxy-authorization", "X-Forwarded-Authorization"]) {
      expect(redactedHeader(name, "Bearer abc")).toBe("Bearer ***");
      expect(redactedHeader(name, "basic dTpw")).toBe("basic ***");
      expect(redactedHeader(name, 'Digest username="u", response="r"')).toBe("Digest ***");
      expect(redactedHeader(name, "abc")).toBe("***");
      expect(redactedHeader(name, "Bearer")).toBe("***");
      // Not a scheme, so it may be a secret with a space in it.
      expect(redactedHeader(name, "hunter2 abc")).toBe("***");
    }
  });

  test("keep the names of cookies, and the attributes of Set-Cookie", () => {
    expect(redactedHeader("cookie", "a=1; theme=dark;b=x=y; flag; =z")).toBe(
      "a=***; theme=***; b=***; ***; =***",
    );
    expect(
      redactedHeader("Set-Cookie", "sid=abc; Path=/; HttpOnly; Max-Age=60; SameSite=Lax; x=secret"),
    ).toBe("sid=***; Path=/; HttpOnly; Max-Age=60; SameSite=Lax; ***");
  });

  test("that were joined with commas lose the cookies in attributes", () => {
    const date = "Wed, 09 Jun 2027 10:18:14 GMT";
    for (const [attribute, shown = "***"] of [
      [`Expires=${date}`, `Expires=${date}`],
      ["Domain=.a.example", "Domain=.a.example"],
      ["Priority=High; Partitioned", "Priority=High; Partitioned"],
      ["Path=/, sid=abc"],
      ["Path=/,sid=abc"],
      ["Path=/ sid"],
      [`Expires=${date}, sid=abc`],
      ["Max-Age=60, sid=abc"],
      ["Domain=a.example, sid=abc"],
      ["SameSite=Lax, sid=abc"],
      ["HttpOnly, sid=abc"],
      ["Secure=abc"],
    ] as const) {
      expect(redactedHeader("set-cookie", `a=1; ${attribute}`)).toBe(`a=***; ${shown}`);
    }
  });

  test("whose names are secrets are recorded without them", () => {
    const exchange = redactor().for({ url: "/" });
    const named = finished(
      exchange.headers([
        [TOKEN, "a"],
        [TOKEN.toLowerCase(), "a"],
        ["x-keyjar", "a"],
      ]),
    );
    expect(named).toEqual([
      ["***", "a"],
      ["***", "a"],
      ["x-keyjar", "a"],
    ]);
  });

  test("that carry API keys, or are named like secrets, are masked", () => {
    for (const name of [
      "X-Api-Key",
      "api_key",
      "X-Goog-Api-Key",
      "Ocp-Apim-Subscription-Key",
      "X-Functions-Key",
      "X-Auth-Key",
      "X-Auth-Token",
      "X-Amz-Security-Token",
      "X-CSRF-Token",
      "X-CSRF",
      "X-Xsrf",
      "OTP",
      "Auth",
      "Pass",
      "X-Session-Id",
      "X-Client-Secret",
      "Password",
    ]) {
      expect(redactedHeader(name, "abc")).toBe("***");
    }
    for (const name of [
      "Accept",
      "ETag",
      "X-Request-Id",
      "Content-Type",
      "Sec-WebSocket-Key",
      "X-Bypass",
    ]) {
      expect(redactedHeader(name, "abc")).toBe("abc");
    }
  });

  test("are redacted by rules, by header or name, before defaults", () => {
    const rules = [
      { header: "x_tenant", action: "hash" },
      { header: "authorization", action: "drop" },
      { name: "theme", action: "replace", with: "any" },
    ] as const;
    const exchange = redactor(rules).for({ url: "/" });
    const headers = finished(
      exchange.headers([
        ["X-Tenant", "acme"],
        ["Authorization", "Bearer abc"],
        ["Cookie", "theme=dark; sid=1"],
        ["X-Tenant", "acme"],
      ]),
    );
    const [tenant, cookie, again] = headers;
    expect(tenant![1]).toMatch(/^hash:[0-9a-f]{32}$/u);
    expect(again).toEqual(tenant);
    expect(cookie).toEqual(["Cookie", "theme=any; sid=***"]);
    expect(headers.length).toBe(3);
  });

  test("keep them if the defaults are off", () => {
    const off = (defaults: object) => ({ defaults });
    expect(redactedHeader("authorization", "Basic a", [], off({ authorization: false }))).toBe(
      "Basic a",
    );
    expect(redactedHeader("authorization", TOKEN, [], off({ authorization: false }))).toBe("***");
    expect(redactedHeader("cookie", "a=1; token=2", [], off({ cookies: false }))).toBe(
      "a=1; token=***",
    );
    expect(redactedHeader("x-api-key", "abc", [], off({ apiKeys: false }))).toBe("abc");
    expect(redactedHeader("x-session", "abc", [], off({ names: false }))).toBe("abc");
    expect(redactedHeader("x-api-key", "abc", [], off({ names: false }))).toBe("***");
  });

  test("are not the only texts beside URLs and bodies", () => {
    const exchange = redactor().for({ url: "/" });
    expect(finished(exchange.text(`Not Found: ${TOKEN}`))).toBe("Not Found: ***");
  });

  test("of any number of names do not fill memory", () => {
    const exchange = redactor().for({ url: "/" });
    for (let index = 0; index < 2000; index++) {
      const name = `x-${index}-token`;
      expect(finished(exchange.headers([[name, "a"]]))).toEqual([[name, "***"]]);
    }
  });
});
