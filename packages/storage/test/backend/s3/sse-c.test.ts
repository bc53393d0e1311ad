import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../../../../../tests/servers/certificate.ts";
import { skipIfMissing } from "../../../../../tests/servers/require-server.ts";
import {
  type ServerProcess,
  installedServers,
  startServer,
} from "../../../../../tests/servers/server-process.ts";
import { minio } from "../../../src/backend/minio.ts";
import { rejects } from "../rejects.ts";

const missing = [
  ...(installedServers().includes("minio") ? [] : ["executable of MinIO"]),
  ...(Bun.which("openssl") === null ? ["openssl"] : []),
];

// SSE-C needs TLS, so this MinIO has its own certificate. A runtime reads trusted certificates only
// at start-up, so the backend runs in another process.
skipIfMissing(missing)("SSE-C on MinIO over TLS", () => {
  let folder: string;
  let server: ServerProcess;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-sse-c-"));
    await makeCertificate(folder);
    server = await startServer("minio", { certificate: folder });
  }, 60_000);
  afterAll(async () => {
    await server.remove();
    await rm(folder, { recursive: true });
  });

  test.each(["minio", "s3"])(
    "%s keeps a blob that only who has the key can read",
    async (kind) => {
      const run = Bun.spawn(["bun", "-e", SCRIPT], {
        cwd: import.meta.dir,
        env: {
          ...process.env,
          KIND: kind,
          ENDPOINT: server.endpoint,
          ACCESS_KEY: server.accessKeyId,
          SECRET_KEY: server.secretAccessKey,
          NODE_EXTRA_CA_CERTS: join(folder, "public.crt"),
        },
        stderr: "inherit",
      });
      expect(await new Response(run.stdout).json()).toEqual({
        read: "opaque bytes",
        encryption: "SSE-C AES256",
        capability: "SSE-C AES256",
        attests: true,
        without: "unavailable",
        wrong: "refused",
      });
    },
    60_000,
  );

  test("is rejected by a client that does not trust its certificate", async () => {
    const key = new Uint8Array(32).fill(1);
    const backend = minio({
      bucket: "bucket",
      endpoint: server.endpoint,
      accessKey: server.accessKeyId,
      secretKey: server.secretAccessKey,
      encryption: { type: "SSE-C", key },
    });
    for (const call of [
      () => backend.put("ab".repeat(32), key),
      () => Array.fromAsync(backend.list("")),
    ]) {
      const error = await rejects(
        call(),
        "unavailable",
        "is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)",
      );
      expect(error.transient).toBe(false);
    }
  });
});

const SCRIPT = `
  import { minio } from "@idk/storage/minio";
  import { s3 } from "@idk/storage/s3";
  import { initBucket } from "@idk/storage/provision";
  const { ENDPOINT: endpoint, ACCESS_KEY: accessKey, SECRET_KEY: secretKey } = process.env;
  const owner = { bucket: "bucket", endpoint, accessKey, secretKey };
  await initBucket({ provider: "minio", ...owner });
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const [open, base] = {
    minio: [minio, owner],
    s3: [s3, { bucket: "bucket", prefix: "any", endpoint, region: "us-east-1", credentials }],
  }[process.env.KIND];
  const keyed = (byte) => open({ ...base, encryption: { type: "SSE-C", key: new Uint8Array(32).fill(byte) } });
  const name = "ab".repeat(32);
  await keyed(1).put(name, Buffer.from("opaque bytes"));
  const buffer = Buffer.alloc(100);
  const read = buffer.toString("utf8", 0, await keyed(1).get(name, buffer));
  const { verifiesChecksums: attests, encryption: capability } = await keyed(1).capabilities();
  const codeOf = (call) => call.then(() => "read", (error) => error.code);
  const without = await codeOf(open(base).get(name, buffer));
  const wrong = (await codeOf(keyed(2).get(name, buffer))) === "read" ? "read" : "refused";
  console.log(JSON.stringify({
    read, encryption: (await keyed(1).head(name)).encryption, capability, attests, without, wrong,
  }));
`;
