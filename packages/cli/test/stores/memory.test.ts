import { mkdtemp, readdir } from "node:fs/promises";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

setDefaultTimeout(120_000);

const { path, idk, ok } = await createWorkspace();
const KiB = 2 ** 10;

/** A bucket that takes 50 ms for each object, and the most transfers it has had at once. */
function slowBucket() {
  const objects = new Map<string, ArrayBuffer>();
  const seen = { running: 0, most: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      await Bun.sleep(50);
      seen.running -= 1;
      if (request.method === "PUT") {
        objects.set(pathname, await request.arrayBuffer());
        return new Response(null, { headers: { etag: "x" } });
      }
      const object = objects.get(pathname);
      return object ? new Response(object) : new Response(null, { status: 404 });
    },
  });
  const env = {
    IDK_STORE: `s3://bucket?endpoint=${server.url.origin}&region=us-east-1`,
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
  };
  return { server, env, seen };
}

describe("--memory", () => {
  test("bounds the chunks in flight of all commands that transfer content", async () => {
    const { server, env, seen } = slowBucket();
    const mostOf = async (args: string[], stdin?: Uint8Array) => {
      seen.most = 0;
      const { stdout, bytes } = await ok(args, { env, ...(stdin && { stdin }) });
      return { most: seen.most, stdout, bytes };
    };
    const transfer = async (...memory: string[]): Promise<number[]> => {
      const target = await mkdtemp(path("copied-"));
      const args = ["put", "-", "--chunk-size", "256K", ...memory];
      const put = await mostOf(args, noise(6000 * KiB));
      const address = put.stdout.trim();
      const get = await mostOf(["get", address, ...memory]);
      expect(get.bytes).toHaveLength(6000 * KiB);
      const verify = await mostOf(["verify", "--deep", address, ...memory]);
      const to = ["--from", env.IDK_STORE, "--to", target];
      const copy = await mostOf(["copy", "--tree", address, ...to, ...memory]);
      expect(await readdir(target, { recursive: true })).not.toEqual([]);
      return [put, get, verify, copy].map(({ most }) => most);
    };
    // Less than the runtime takes leaves the two chunks that every call has.
    expect(await transfer("--memory", "1M")).toEqual([2, 2, 2, 2]);
    for (const most of await transfer()) expect(most).toBeGreaterThanOrEqual(4);
    void server.stop(true);
  });

  test.each(["lots", "0"])("%s is not accepted", async (memory) => {
    const message = memory === "0" ? "memory must be" : "--memory must be a size such as";
    expectFailure(await idk(["put", "-", `--memory=${memory}`], { stdin: "x" }), 2, message);
  });
});
