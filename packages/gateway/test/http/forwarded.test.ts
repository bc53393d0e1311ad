import { expect, test } from "bun:test";
import { originOf, trustedProxies } from "../../src/http/forwarded.ts";

const isTrusted = trustedProxies(["10.0.0.0/8", "127.0.0.1", "fd00::/8"]);
const of = (remote: string, headers: Record<string, string> = {}) =>
  originOf(remote, new Map(Object.entries(headers)), isTrusted);

test.each([
  ["192.0.2.1", "198.51.100.1", "192.0.2.1"],
  ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["fd00::1", "2001:db8::1", "2001:db8::1"],
  ["127.0.0.1", "203.0.113.9, 198.51.100.1, 10.2.3.4", "198.51.100.1"],
  ["127.0.0.1", "127.0.0.1, 198.51.100.1", "198.51.100.1"],
  ["127.0.0.1", "unknown", "127.0.0.1"],
  ["127.0.0.1", "", "127.0.0.1"],
])("%s that forwards for %s names the client %s", (remote, forwarded, client) => {
  expect(of(remote, { "x-forwarded-for": forwarded }).client).toBe(client);
});

test("the scheme is that of a trusted proxy alone", () => {
  const headers = { "x-forwarded-proto": "http, https" };
  expect(of("127.0.0.1", headers).scheme).toBe("https");
  expect(of("192.0.2.1", headers).scheme).toBeUndefined();
  expect(of("127.0.0.1", { "x-forwarded-proto": "gopher" }).scheme).toBeUndefined();
});

test("a request that was forwarded is known as such, whoever did", () => {
  expect(of("192.0.2.1").isForwarded).toBe(false);
  for (const name of ["x-forwarded-for", "forwarded", "via", "x-real-ip"]) {
    expect(of("192.0.2.1", { [name]: "x" }).isForwarded).toBe(true);
  }
});

test.each(["", "x", "10.0.0", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/8/8", "::/129"])(
  "%j is no address",
  (text) => {
    expect(() => trustedProxies([text])).toThrow("neither an IP address nor a network");
  },
);
