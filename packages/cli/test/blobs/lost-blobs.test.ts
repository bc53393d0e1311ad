import { afterAll, expect, test } from "bun:test";
import { type HttpProxy, httpProxy } from "../../../../tests/servers/http-proxy.ts";
import { createWorkspace, noise } from "../support/cli.ts";
import { describeMinio } from "../support/minio.ts";

const workspace = await createWorkspace();
const { idk, ok } = workspace;

await describeMinio("a store that does not return what it lists", (minio, bucket) => {
  /** A proxy in front of the store that tampers with one blob. */
  const state = { lost: "", listed: true, answer: new Response() };
  const front: HttpProxy = httpProxy(minio.origin, {
    respond({ method, url }) {
      if (state.lost === "") return undefined;
      if (url.searchParams.get("prefix")?.endsWith(state.lost) && !state.listed) {
        return new Response(
          "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
        );
      }
      return method === "GET" && url.pathname.endsWith(state.lost)
        ? state.answer.clone()
        : undefined;
    },
  });
  afterAll(() => front.stop());
  const lose = (lost: string, answer: Response, listed = true) =>
    void Object.assign(state, { lost, answer, listed });
  const gone = () => refusal(404, "NoSuchKey");

  const store = minio.url(bucket, "/lossy");
  const env = { ...minio.env, IDK_STORE: store, IDK_RETRY_SECONDS: "0" };
  const { host } = new URL(front.endpoint);
  const at = { env: { ...env, IDK_STORE: store.replace(minio.host, host) } };
  const stored = (async () => {
    lose("", gone());
    const put = await ok(["put", "-", "--chunk-size", "256K"], { stdin: noise(2 ** 20 + 1), env });
    const tree = put.stdout.trim();
    const all = (await ok(["ls"], { env })).stdout.trim().split("\n");
    return { tree, all, chunk: all.find((name) => name !== tree)! };
  })();

  test("fails to verify and to copy", async () => {
    const { chunk } = await stored;
    lose(chunk, gone());
    const verified = await idk(["verify"], at);
    expect(verified.stdout).toStartWith(`${chunk} not-found: `);
    expect(verified.stderr).toContain("checked 6 blobs");
    expect(verified.stderr).toContain("1 failed\n");
    expect(verified.code).toBe(3);
    const copied = await idk(["copy", "--from", at.env.IDK_STORE, "--to", "five"], at);
    expect(copied.stdout).toStartWith(`${chunk} not-found: `);
    expect(copied.stderr).toContain("copied 5 blobs");
    expect(copied.code).toBe(3);
  });

  test("has no complete roots that it does not return", async () => {
    const { tree } = await stored;
    lose(tree, gone());
    const verified = await idk(["verify", "--complete"], at);
    expect(verified.stdout).toStartWith(`${tree} not-found: `);
    expect(verified.code).toBe(3);
  });

  test("reports unreadable blobs, and copies everything else", async () => {
    const { tree, all, chunk } = await stored;
    lose(chunk, refusal(503, "SlowDownRead"));
    const args = ["copy", "--from", at.env.IDK_STORE, "--to", "evacuated"];
    const copied = await idk(args, at);
    expect(copied.stdout).toMatch(new RegExp(`^${chunk} address: .* cannot return its bytes`, "u"));
    expect(copied.stderr).toContain(`copied ${all.length - 1} blobs`);
    expect(copied.code).toBe(5);
    const roots = await ok(["ls", "--store", "evacuated"]);
    expect(roots.stdout).toContain(tree);
  });

  test("reports an unreadable tree, and copies the next one", async () => {
    const { tree } = await stored;
    lose("", gone());
    const small = (await ok(["put", "-"], { stdin: "small", env })).stdout.trim();
    lose(tree, refusal(503, "SlowDownRead"));
    const args = ["copy", "--from", at.env.IDK_STORE, "--to", "trees", "--tree", tree, small];
    const copied = await idk(args, at);
    expect(copied.stdout).toStartWith(`${tree} address: `);
    expect(copied.code).toBe(5);
    expect((await ok(["ls", "--store", "trees"])).stdout.trim()).toBe(small);
    await ok(["rm", small], { env });
  });

  test("does not fail if the blob is no longer listed, and reports that", async () => {
    const { chunk } = await stored;
    lose(chunk, gone(), false);
    const verified = await ok(["verify"], at);
    expect(verified.stderr).toMatch(
      /^checked 5 blobs, .*; none failed, 1 removed during the check\n/u,
    );
    const json = await ok(["verify", "--json"], at);
    const lines = json.stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
      ok: true,
      address: chunk,
      removed: true,
    });
    const args = ["copy", "--from", at.env.IDK_STORE, "--to", "rest"];
    expect((await ok(args, at)).stderr).toMatch(/1 removed during the copy; none failed\n$/u);
    const again = await ok([...args, "--json"], at);
    expect(JSON.parse(again.stdout)).toMatchObject({ skipped: 5, failed: 0, removed: 1 });
  });
});

function refusal(status: number, code: string): Response {
  return new Response(`<Error><Code>${code}</Code><Message>words</Message></Error>`, { status });
}
