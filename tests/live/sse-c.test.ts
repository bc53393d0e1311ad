import { type ServerProcess, installedServers, startServer } from "../servers/server-process.ts";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { MiB, testContent } from "./content.ts";
import { join } from "node:path";
import { makeCertificate } from "../servers/certificate.ts";
import { skipIfMissing } from "../servers/require-server.ts";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";

setDefaultTimeout(90_000);

const main = join(import.meta.dir, "../../packages/cli/src/main.ts");

const missing = [
  ...(installedServers().includes("minio") ? [] : ["executable of MinIO"]),
  ...(Bun.which("openssl") === null ? ["openssl"] : []),
];

skipIfMissing(missing)("the command with SSE-C", () => {
  let folder: string;
  let server: ServerProcess;
  const path = (name: string) => join(folder, name);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-sse-c-"));
    await makeCertificate(folder);
    server = await startServer("minio", { certificate: folder });
  });
  afterAll(async () => {
    await server.remove();
    await rm(folder, { recursive: true });
  });

  const idk = async (args: readonly string[], key?: string) => {
    const query = key === undefined ? "" : `&sse-c-key=${encodeURIComponent(path(key))}`;
    const { endpoint, accessKeyId, secretAccessKey } = server;
    const child = Bun.spawn([process.execPath, main, ...args], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
        NODE_EXTRA_CA_CERTS: path("public.crt"),
        IDK_STORE: `s3://attic/cellar?endpoint=${endpoint}&region=us-east-1${query}`,
        IDK_IDENTITY: path("me.key"),
        IDK_RETRY_SECONDS: "0",
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
    return { stdout: stdout.trim(), stderr, code };
  };
  const ok = async (...given: Parameters<typeof idk>) => {
    const result = await idk(...given);
    expect(`${result.code} ${result.code === 0 ? "" : result.stderr}`).toBe("0 ");
    return result.stdout;
  };

  test("puts, gets and verifies with the key, and fails without it", async () => {
    const content = await new Response(testContent(2 * MiB, 12).stream()).bytes();
    await writeFile(path("content"), content);
    await writeFile(path("key"), randomBytes(32));
    await writeFile(path("other"), randomBytes(32));
    await ok(["store", "init", storeUrl()]);
    await ok(["keygen", "-o", "me.key"]);
    const recipient = await ok(["recipient"]);

    const check = JSON.parse(await ok(["store", "check", "--json"], "key")) as unknown;
    expect(check).toMatchObject({ ok: true, encryption: "SSE-C AES256" });
    const address = await ok(["put", "content", "-r", recipient], "key");
    await ok(["get", address, "-o", "back"], "key");
    expect(Buffer.compare(await Bun.file(path("back")).bytes(), content)).toBe(0);
    expect(await ok(["stat", address], "key")).toMatch(/SSE-C AES256/u);
    await ok(["verify"], "key");
    await ok(["verify", "--deep", address], "key");

    for (const key of [undefined, "other"]) {
      const refused = await idk(["get", address, "-o", "never"], key);
      expect(refused.code).toBe(6);
      expect(await Bun.file(path("never")).exists()).toBe(false);
    }
  });

  const storeUrl = () => `s3://attic/cellar?endpoint=${server.endpoint}&region=us-east-1`;
});
