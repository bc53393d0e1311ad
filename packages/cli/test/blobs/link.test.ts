import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createWorkspace, expectFailure } from "../support/cli.ts";
import { describeMinio, expectNoCredentials } from "../support/minio.ts";

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;
const A = "ab".repeat(32);
const sha256 = (content: string | Buffer) =>
  new Bun.CryptoHasher("sha256").update(content).digest("hex");
const PAGE = "https://example.com/open/";

describe("idk link", () => {
  test.each<[args: string[], message: string]>([
    [[A], "no page that opens links is set: pass --page-url https://HOST/PATH/"],
    [["--page-url", PAGE], "name the address of the content to share"],
    [["abc", "--page-url", PAGE], "ADDRESS must be 64 lowercase"],
    [[A, "--page-url", PAGE, "--expires", "8d"], "--expires must be a period of at most 7d"],
    [[A, "--page-url", PAGE, "--expires", "0s"], "--expires must be a period of at most 7d"],
    [[A, "--page-url", PAGE, "--expires", "soon"], "--expires must be a period such as 7d"],
    [[A, "--page-url", PAGE], "links need a store on S3, MinIO or B2"],
    [[A, "--page-url", "http://example.com/"], "the page must be https://HOST/PATH"],
    [
      [A, "--page-url", PAGE, "--public", "https://blobs.example/", "--expires", "1d"],
      "--expires does not apply with --public",
    ],
    [[A, "--page-url", PAGE, "--public", "http://blobs.example/"], "the public address must be"],
    [[A, "--page", "open"], "--page writes the page and makes no link"],
    [[A, "--page-url", PAGE, "--force"], "--force applies to --page"],
    [["--page", "me.key"], "cannot write the page to me.key"],
  ])("%p", async (args, message) => {
    expectFailure(await idk(["link", ...args]), message.startsWith("cannot") ? 1 : 2, message);
  });

  test("makes a link to public addresses of any store", async () => {
    writeFileSync(path("note"), "hello\n");
    const address = (await ok(["put", "note"])).stdout.trim();
    const args = ["link", address, "--page-url", PAGE, "--public", "https://blobs.example/idk/"];
    const { stdout, stderr } = await ok(args);
    expect(stdout).toMatch(
      /^https:\/\/example\.com\/open\/#1~blobs\.example\/idk\/~[\w-]{43}~[\w-]{43}\n$/u,
    );
    expect(stderr).toStartWith(
      "idk: anyone who has this link can read the content\nidk: to revoke",
    );
    const json = await ok([...args, "--json"]);
    const { expires } = JSON.parse(json.stdout) as { expires: unknown };
    expect(expires).toBeNull();
  });

  test("writes the page", async () => {
    const { stdout, stderr } = await ok(["link", "--page", "a/open"]);
    const names = readdirSync(path("a/open")).toSorted();
    expect(names).toEqual([
      "LICENSES.txt",
      "idk-page.sha256",
      "index.html",
      "page.js",
      "service-worker.js",
      "style.css",
    ]);
    expect(stdout.trim().split("\n").toSorted()).toEqual(names.map((name) => `a/open/${name}`));
    expect(stderr).toContain("6 files; serve the folder by HTTPS");
    const index = readFileSync(path("a/open/index.html"), "utf8");
    expect(index).toContain("default-src 'none'");
    // Again, over what is there.
    const again = JSON.parse((await ok(["link", "--page", "a/open", "--json"])).stdout) as object;
    expect(again).toEqual({ folder: "a/open", files: expect.any(Array) as unknown });
  });

  test("replaces a page of an earlier version, and keeps the modes of its files", async () => {
    await ok(["link", "--page", "earlier"]);
    const sums = readFileSync(path("earlier/idk-page.sha256"), "utf8");
    expect(sums).toContain(`${sha256(readFileSync(path("earlier/page.js")))}  page.js\n`);
    writeFileSync(path("earlier/page.js"), "earlier");
    chmodSync(path("earlier/page.js"), 0o640);
    const earlier = sums.replace(/\w+(?= {2}page\.js)/u, sha256("earlier"));
    writeFileSync(path("earlier/idk-page.sha256"), earlier);
    await ok(["link", "--page", "earlier"]);
    expect(readFileSync(path("earlier/idk-page.sha256"), "utf8")).toBe(sums);
    expect(readFileSync(path("earlier/page.js"), "utf8")).not.toBe("earlier");
    expect(statSync(path("earlier/page.js")).mode & 0o777).toBe(0o640);
    expect(readdirSync(path("earlier"))).toHaveLength(6);
  });

  test.each<[what: string, name: string, change: (path: string) => void]>([
    ["a file of a site", "index.html", (file) => writeFileSync(file, "my site")],
    ["an empty file", "style.css", (file) => writeFileSync(file, "")],
    ["a symbolic link", "page.js", (file) => symlinkSync("../me.key", file)],
    ["another list of hashes", "idk-page.sha256", (file) => writeFileSync(file, "my notes\n")],
  ])("does not replace %s without --force", async (what, name, change) => {
    const folder = what.replaceAll(" ", "-");
    mkdirSync(path(folder));
    change(path(`${folder}/${name}`));
    const before = readFileSync(path(`${folder}/${name}`), "utf8");
    const key = readFileSync(path("me.key"), "utf8");
    const result = await idk(["link", "--page", folder]);
    expectFailure(result, 2, `${folder}/${name} already exists and is not a file that`);
    expect(readdirSync(path(folder))).toEqual([name]);
    expect(readFileSync(path(`${folder}/${name}`), "utf8")).toBe(before);
    await ok(["link", "--page", folder, "--force"]);
    expect(readFileSync(path(`${folder}/${name}`), "utf8")).not.toBe(before);
    expect(readdirSync(path(folder))).toHaveLength(6);
    expect(readFileSync(path("me.key"), "utf8")).toBe(key);
  });

  test("does not replace a file of the page that was changed", async () => {
    await ok(["link", "--page", "mine"]);
    writeFileSync(path("mine/style.css"), "body { color: red }");
    expectFailure(await idk(["link", "--page", "mine"]), 2, "mine/style.css already exists");
    expect(readFileSync(path("mine/style.css"), "utf8")).toBe("body { color: red }");
  });
});

test.each<[aheadMs: number, noted: boolean]>([
  [300_000, true],
  [0, false],
])("a clock that is %p ms ahead of the store", async (aheadMs, noted) => {
  writeFileSync(path("note"), "hello\n");
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const headers = { date: new Date(Date.now() - aheadMs).toUTCString(), etag: '"e"' };
      const { pathname } = new URL(request.url);
      if (request.method === "PUT") {
        blobs.set(pathname, new Uint8Array(await request.arrayBuffer()));
        return new Response(null, { headers });
      }
      const blob = blobs.get(pathname);
      if (blob === undefined) return new Response(null, { status: 404, headers });
      return new Response(blob, { headers });
    },
  });
  const env = {
    IDK_STORE: `s3://files?endpoint=${server.url.origin}&region=us-east-1`,
    AWS_ACCESS_KEY_ID: "access-key",
    AWS_SECRET_ACCESS_KEY: "secret-key",
  };
  const address = (await ok(["put", "note"], { env })).stdout.trim();
  const { stderr } = await ok(["link", address, "--page-url", PAGE], { env });
  const text = /this machine's clock is (?:299|30\d) s ahead of the store's/u;
  expect(text.test(stderr)).toBe(noted);
});

await describeMinio("idk link with temporary credentials", (minio, bucket) => {
  test("notes that the link ends with them", async () => {
    const temporary = await minio.assumeRole(
      JSON.stringify({
        Version: "2012-10-17",
        Statement: [{ Effect: "Allow", Action: "s3:*", Resource: [`arn:aws:s3:::${bucket}/*`] }],
      }),
    );
    const env = { ...temporary, IDK_STORE: minio.url(bucket) };
    const address = (await ok(["put", "note"], { env })).stdout.trim();
    const result = await ok(["link", address, "--page-url", PAGE], { env });
    expectNoCredentials({ ...result, stdout: "" }, env);
    expect(result.stderr).toContain("idk: note: the credentials of the store are temporary");
  });
});
