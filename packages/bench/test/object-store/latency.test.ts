import { describe, expect, test } from "bun:test";
import { withRoundTrip } from "../../src/object-store/latency.ts";

test("explains what is missing", async () => {
  const missing = withRoundTrip("http://127.0.0.1:9000", 20, "");
  expect(await missing.catch(String)).toBe(
    "Usage: --rtt needs the fault proxy, and IDK_TEST_TOXIPROXY is not set: " +
      "run `script/toxiproxy run script/minio run script/idk bench …`",
  );
  const encrypted = withRoundTrip("https://s3.example", 20, "http://127.0.0.1:1");
  expect(await encrypted.catch(String)).toContain("--rtt needs a store without TLS");
});

test("removes the proxy if it cannot be slowed down, and passes the reason on", async () => {
  const requests: string[] = [];
  using api = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname } = new URL(request.url);
      requests.push(`${request.method} ${pathname.replace(/idk-bench-[0-9a-f]{12}/u, "NAME")}`);
      if (pathname.endsWith("/toxics")) return new Response("no toxics today", { status: 400 });
      return Response.json({ listen: "127.0.0.1:1" });
    },
  });
  const refused = withRoundTrip("http://127.0.0.1:9000", 20, api.url.origin);
  expect(await refused.catch(String)).toContain("rejected POST /proxies/idk-bench-");
  expect(requests).toEqual(["POST /proxies", "POST /proxies/NAME/toxics", "DELETE /proxies/NAME"]);
});

const given = process.env["IDK_TEST_TOXIPROXY"];
if (given) describe("with a fault proxy", () => tests(given));
else if (process.env["CI"]) throw new Error("IDK_TEST_TOXIPROXY is not set");
else test.skip("with a fault proxy: none (script/toxiproxy run COMMAND… starts one)", () => {});

function tests(api: string): void {
  test("each request takes the round trip longer, and its bytes are unchanged", async () => {
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) =>
        new Response(`${request.headers.get("host")} ${await request.text()}`),
    });
    const once = async (endpoint: string): Promise<[number, string]> => {
      const start = performance.now();
      const response = await fetch(endpoint, { method: "PUT", body: "body" });
      return [performance.now() - start, await response.text()];
    };
    let endpoint = "";
    {
      await using far = await withRoundTrip(server.url.origin, 101, api);
      ({ endpoint } = far);
      // The first request also opens the connection.
      await once(endpoint);
      const [took, text] = await once(endpoint);
      expect(took).toBeGreaterThanOrEqual(100);
      expect(text).toBe(`${new URL(endpoint).host} body`);
    }
    expect(await once(endpoint).catch(() => "gone")).toBe("gone");
  });
}
