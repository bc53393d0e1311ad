import { installedServers, type ServerProcess, startServer } from "../servers/server-process.ts";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../servers/certificate.ts";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

setDefaultTimeout(90_000);

const main = join(import.meta.dir, "../../packages/cli/src/main.ts");

function missing(server: string): string[] {
  return [
    ...(installedServers().includes(server as "minio") ? [] : [`executable of ${server}`]),
    ...(Bun.which("openssl") === null ? ["openssl"] : []),
  ];
}

describe.each(["minio", "versitygw"] as const)("the protocol of %s", (name) => {
  skipIfMissing(missing(name))("is named if the store URL has the other", () => {
    let folder: string;
    let plain: ServerProcess;
    let secure: ServerProcess;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "idk-wrong-protocol-"));
      await makeCertificate(folder);
      plain = await startServer(name);
      secure = await startServer(name, { certificate: folder });
    });
    afterAll(async () => {
      await Promise.all([plain.remove(), secure.remove()]);
      await rm(folder, { recursive: true });
    });

    /** Standard error of `idk ls`, which retries for a minute unless the error is permanent. */
    async function list(store: string): Promise<string> {
      const { accessKeyId, secretAccessKey } = plain;
      const child = Bun.spawn([process.execPath, main, "ls", "--store", store], {
        cwd: folder,
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: folder,
          AWS_ACCESS_KEY_ID: accessKeyId,
          AWS_SECRET_ACCESS_KEY: secretAccessKey,
          MINIO_ACCESS_KEY: accessKeyId,
          MINIO_SECRET_KEY: secretAccessKey,
        },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      });
      const stderr = await new Response(child.stderr).text();
      expect(await child.exited).toBe(6);
      return stderr;
    }

    test("HTTPS for plain HTTP", async () => {
      const { host } = new URL(plain.endpoint);
      const text = `idk: cannot list attic/: ${host} uses HTTP, not HTTPS; set`;
      const remedy = ", or enable TLS on the server\n";
      expect(await list(`minio://${host}/attic?tls=1`)).toBe(
        `${text} tls=0 in the store URL${remedy}`,
      );
      expect(await list(`s3://attic?region=us-east-1&endpoint=https://${host}`)).toBe(
        `${text} endpoint=http://${host} in the store URL${remedy}`,
      );
    });

    test("plain HTTP for HTTPS", async () => {
      const { host } = new URL(secure.endpoint);
      const text = `idk: cannot list attic/: ${host} uses HTTPS, not HTTP; set`;
      expect(await list(`minio://${host}/attic`)).toBe(`${text} tls=1 in the store URL\n`);
      expect(await list(`s3://attic?region=us-east-1&endpoint=http://${host}`)).toBe(
        `${text} endpoint=https://${host} in the store URL\n`,
      );
    });
  });
});
