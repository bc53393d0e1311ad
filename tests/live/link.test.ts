import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { createLink } from "@idk/link";
import { LinkError, openLink } from "@idk/link/open";
import { createStore, generateIdentity, type Identity } from "@idk/storage";
import { minio } from "@idk/storage/minio";
import { requireServer } from "../servers/require-server.ts";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MiB, testContent } from "./content.ts";

setDefaultTimeout(120_000);

const main = join(import.meta.dir, "../../packages/cli/src/main.ts");
const PAGE = "https://example.com/open/";

requireServer("minio")("links to content in MinIO", () => {
  let bucket: Bucket;
  let folder: string;
  let identity: Identity;

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    folder = await mkdtemp(join(tmpdir(), "idk-link-"));
    identity = await generateIdentity();
  });
  afterAll(async () => {
    await bucket.remove();
    await rm(folder, { recursive: true });
  });

  const backend = () => {
    const { endpoint, accessKeyId: accessKey, secretAccessKey: secretKey } = bucket.server;
    return minio({ bucket: bucket.name, prefix: "a b/~ü", endpoint, accessKey, secretKey });
  };
  const put = (content: Uint8Array): Promise<string> =>
    createStore({ backend: backend(), recipients: [identity.recipient] }).put(content, {
      chunkSize: 2 ** 18,
    });
  const link = (address: string, expiresIn = 3600) =>
    createLink({ backend: backend(), identities: [identity], address, page: PAGE, expiresIn });
  const fragmentOf = (url: string): string => url.slice(url.indexOf("#") + 1);
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "opened",
      (error: unknown) => (error instanceof LinkError ? error.code : String(error)),
    );

  test("open without credentials", async () => {
    const bytes = await new Response(testContent(3 * MiB, 1).stream()).bytes();
    const { url } = await link(await put(bytes));
    const opened = await openLink(fragmentOf(url));
    expect(opened.size).toBe(bytes.length);
    expect(Buffer.compare(await opened.bytes(4 * MiB), bytes)).toBe(0);
  });

  test("open until they expire, on the server's clock", async () => {
    const { url } = await link(await put(new Uint8Array(10)), 5);
    expect(await codeOf(openLink(fragmentOf(url)))).toBe("opened");
    await Bun.sleep(6500);
    expect(await codeOf(openLink(fragmentOf(url)))).toBe("expired");
  });

  test("end when their list is removed", async () => {
    const { url, listAddress } = await link(await put(new Uint8Array(10)));
    await backend().delete(listAddress);
    expect(await codeOf(openLink(fragmentOf(url)))).toBe("removed");
  });

  test("are refused with another signature, for another blob, and for longer", async () => {
    const { url } = await link(await put(new Uint8Array(10)));
    const other = await link(await put(new Uint8Array(20)));
    const fields = fragmentOf(url).split("~");
    const changed = (index: number, value: string): string =>
      fields.map((field, at) => (at === index ? value : field)).join("~");
    const theirs = fragmentOf(other.url).split("~");
    expect(await codeOf(openLink(changed(7, theirs[7]!)))).toBe("refused");
    expect(await codeOf(openLink(changed(8, theirs[8]!)))).toBe("refused");
    expect(await codeOf(openLink(changed(5, "604800")))).toBe("refused");
    expect(await codeOf(openLink(changed(9, theirs[9]!)))).toBe("key");
  });

  test("detect what was replaced", async () => {
    const bytes = await new Response(testContent(3 * MiB, 2).stream()).bytes();
    const { url, listAddress } = await link(await put(bytes));
    const opened = await openLink(fragmentOf(url));
    for await (const { name } of backend().list("")) {
      if (name === listAddress) continue;
      const Key = `a b/~ü/${name}`;
      const Body = new Uint8Array(2 ** 18 + 59);
      await bucket.client.send(new PutObjectCommand({ Bucket: bucket.name, Key, Body }));
    }
    expect(await codeOf(opened.bytes(4 * MiB))).toBe("damaged");
  });

  const idk = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
    const child = Bun.spawn([process.execPath, main, ...args], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder,
        MINIO_ACCESS_KEY: accessKeyId,
        MINIO_SECRET_KEY: secretAccessKey,
        IDK_STORE: `minio://${new URL(endpoint).host}/${bucket.name}/cli`,
        IDK_IDENTITY: join(folder, "me.key"),
        IDK_RETRY_SECONDS: "0",
        ...env,
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { stdout, stderr, code };
  };

  test("are printed alone by the command", async () => {
    await idk(["keygen", "-o", "me.key"]);
    const recipient = (await idk(["recipient"])).stdout.trim();
    await writeFile(join(folder, "note.txt"), "hello\n");
    const address = (await idk(["put", "note.txt", "-r", recipient])).stdout.trim();

    const made = await idk(["link", address, "--page-url", PAGE, "--expires", "1h"]);
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^https:\S+\n$/u)]);
    expect(made.stderr).toMatch(
      /^idk: anyone who has this link can read the content until \d{4}-\S+Z\nidk: to revoke it earlier, remove its list: `idk rm [0-9a-f]{64}`\n$/u,
    );
    const opened = await openLink(fragmentOf(made.stdout.trim()));
    expect(opened).toMatchObject({ name: "note.txt", size: 6 });
    expect(await new Response(opened.stream()).text()).toBe("hello\n");

    const config = join(folder, "config.toml");
    await writeFile(config, `page-url = "${PAGE}"\n`);
    const { stdout, stderr } = await idk(["link", address.slice(0, 20), "--json"], {
      IDK_CONFIG: config,
    });
    const json = JSON.parse(stdout) as { url: string; list: string; expires: string };
    expect(Object.keys(json)).toEqual(["url", "expires", "list", "temporary"]);
    expect(stderr).toBe("");
    const left = Date.parse(json.expires) - Date.now();
    expect(left).toBeGreaterThan(7 * 86_400_000 - 60_000);
    expect(left).toBeLessThanOrEqual(7 * 86_400_000);
    expect(await codeOf(openLink(fragmentOf(json.url)))).toBe("opened");

    expect((await idk(["rm", json.list])).code).toBe(0);
    expect(await codeOf(openLink(fragmentOf(json.url)))).toBe("removed");
    expect((await idk(["get", address])).stdout).toBe("hello\n");
  });
});
