import { describe, expect, test } from "bun:test";
import type { StorageError } from "../../../src/errors.ts";
import { proxyFor } from "../../../src/backend/s3/http/proxy.ts";

const PROXY = "http://proxy.example:3128/";

describe("the proxy for a URL", () => {
  test.each([
    ["http://store", { http_proxy: PROXY }, PROXY],
    ["https://store", { http_proxy: PROXY }, undefined],
    ["https://store", { HTTPS_PROXY: "proxy.example:3128" }, PROXY],
    ["http://store", { HTTPS_PROXY: PROXY }, undefined],
    ["https://store", { https_proxy: PROXY, HTTPS_PROXY: "http://other" }, PROXY],
    ["https://store", { https_proxy: "", HTTPS_PROXY: PROXY }, PROXY],
    ["https://store", { all_proxy: PROXY }, PROXY],
    ["http://store", { HTTP_PROXY: PROXY, REQUEST_METHOD: "GET" }, undefined],
    ["http://store", { http_proxy: PROXY, REQUEST_METHOD: "GET" }, PROXY],
    ["https://store", {}, undefined],
  ] as const)("%s with %p is %p", (url, env, expected) => {
    expect(proxyFor(new URL(url), env)).toBe(expected);
  });

  test.each([
    ["*", "http://store", true],
    ["store", "http://store", true],
    ["STORE", "http://store", true],
    ["other, store", "http://store", true],
    ["other store", "http://store", true],
    ["example.com", "http://a.b.example.com", true],
    [".example.com", "http://example.com", true],
    ["*.example.com", "http://a.example.com", true],
    ["example.com", "http://badexample.com", false],
    ["example.com", "http://example.com.evil", false],
    ["store:9000", "http://store:9000", true],
    ["store:9000", "http://store:9001", false],
    ["store:443", "https://store", true],
    ["127.0.0.1", "http://127.0.0.1:9000", true],
    ["0.0.1", "http://127.0.0.1:9000", false],
    ["127.0.0.0/8", "http://127.9.9.9", true],
    ["127.0.0.0/8", "http://128.0.0.1", false],
    ["127.0.0.0/33", "http://127.0.0.1", false],
    ["10.0.0.0/8", "http://store", false],
    ["::1", "http://[::1]:9000", true],
    ["[::1]:9000", "http://[::1]:9000", true],
    ["[::1]:9000", "http://[::1]:9001", false],
    ["2001:DB8:0::5", "http://[2001:db8::5]", true],
    ["[0:0:0:0:0:0:0:1]:9000", "http://[::1]:9000", true],
    ["fd00::/8", "http://[fd12::1]", true],
    [".", "http://store", false],
    ["", "http://store", false],
  ])("with NO_PROXY=%p, %s is direct: %p", (list, url, direct) => {
    const proxy = proxyFor(new URL(url), { all_proxy: PROXY, no_proxy: list });
    expect(proxy).toBe(direct ? undefined : PROXY);
  });

  test("is rejected if it is malformed, without its credentials", () => {
    for (const value of ["http://user:secret@ho st", "socks5://user:secret@host"]) {
      try {
        proxyFor(new URL("https://store"), { HTTPS_PROXY: value });
        expect.unreachable();
      } catch (error) {
        expect(error).toMatchObject({ code: "usage" });
        expect((error as StorageError).message).toContain("HTTPS_PROXY");
        expect((error as StorageError).message).not.toContain("secret");
      }
    }
  });
});
