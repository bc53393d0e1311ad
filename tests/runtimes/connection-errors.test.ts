import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBuilt } from "../built.ts";
import { makeCertificate } from "../servers/certificate.ts";

const root = join(import.meta.dir, "../..");
const script = join(import.meta.dir, "object-store-requests.mjs");
const node = Bun.which("node");

/** Bun and Node report the same failures with different codes and messages. */
const RUNTIMES = ["bun", ...(node === null && !process.env["CI"] ? [] : ["node"])];

describe.each(RUNTIMES)("connection errors on %s", (runtime) => {
  let folder: string;
  let plain: ReturnType<typeof Bun.serve>;
  let secure: ReturnType<typeof Bun.serve>;

  beforeAll(async () => {
    await ensureBuilt();
    folder = await mkdtemp(join(tmpdir(), "idk-connection-"));
    await makeCertificate(folder);
    const common = { port: 0, hostname: "127.0.0.1", fetch: () => new Response() };
    const file = (name: string) => Bun.file(join(folder, name));
    plain = Bun.serve(common);
    secure = Bun.serve({ ...common, tls: { key: file("private.key"), cert: file("public.crt") } });
  }, 120_000);
  afterAll(async () => {
    await Promise.all([plain.stop(true), secure.stop(true)]);
    await rm(folder, { recursive: true });
  });

  /** The message of every kind of request at an endpoint. */
  async function messages(endpoint: string): Promise<string[]> {
    const variables = Object.entries(process.env).filter(([name]) => !/_proxy$/iu.test(name));
    const env = { ...Object.fromEntries(variables), AWS_EC2_METADATA_DISABLED: "true" };
    const command = [runtime, script, endpoint];
    const child = Bun.spawn(command, { cwd: root, env, stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(stderr);
    const [results] = JSON.parse(stdout) as Record<string, string>[];
    expect(Object.keys(results!)).toHaveLength(5);
    return Object.values(results!);
  }

  test("plain HTTP behind https:// is named", async () => {
    const address = `127.0.0.1:${plain.port}`;
    for (const text of await messages(`https://${address}`)) {
      expect(text).toContain(`: ${address} uses HTTP, not HTTPS; set `);
    }
  }, 60_000);

  test("HTTPS behind http:// is named", async () => {
    const address = `127.0.0.1:${secure.port}`;
    for (const text of await messages(`http://${address}`)) {
      expect(text).toContain(`: ${address} uses HTTPS, not HTTP; set `);
    }
  }, 60_000);

  test("an unknown certificate authority is named", async () => {
    const address = `127.0.0.1:${secure.port}`;
    for (const text of await messages(`https://${address}`)) {
      expect(text).toContain(`: the certificate of ${address} is not trusted (DEPTH_ZERO_`);
    }
  }, 60_000);

  test("a server that refuses the connection is named", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    for (const text of await messages(`http://127.0.0.1:${port}`)) {
      expect(text).toContain(`: 127.0.0.1:${port} refused the connection (ECONNREFUSED); check`);
    }
  }, 60_000);

  test("a host name that cannot be resolved is named", async () => {
    for (const text of await messages("https://nowhere.invalid:9000")) {
      expect(text).toContain(": the host name of nowhere.invalid:9000 cannot be resolved (ENOTFOU");
    }
  }, 60_000);
});
