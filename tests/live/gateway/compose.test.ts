import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateBucketCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { formatIdentity, generateIdentity } from "@idk/storage";

import { root, run } from "../../documents.ts";
import { skipIfMissing } from "../../servers/require-server.ts";
import { freePort } from "../../servers/server-process.ts";

// Images are downloaded and built.
setDefaultTimeout(20 * 60_000);

const slow = process.env["IDK_TEST_SLOW"] === "1";

/** Whether an engine answers; the command alone is not enough. */
async function dockerRuns(): Promise<boolean> {
  if (Bun.which("docker") === null) return false;
  return (await run(root, ["docker", "info"])).exitCode === 0;
}

const needed = slow && !(await dockerRuns()) ? ["Docker engine"] : [];

(slow ? skipIfMissing(needed) : describe.skip)("the services of compose.yml", () => {
  const keys = { accessKeyId: "TEST", secretAccessKey: "a secret of this test" };
  const content = randomBytes(3 * 2 ** 20);
  let folder: string;
  let s3: S3Client;

  const compose = async (...args: string[]): Promise<string> => {
    const files = ["--file", "packaging/gateway/compose.yml", "--env-file", join(folder, "env")];
    const project = ["--project-name", "idk-gateway-test"];
    const done = await run(root, ["docker", "compose", ...files, ...project, ...args]);
    expect([done.exitCode, done.exitCode === 0 ? "" : done.stderr]).toEqual([0, ""]);
    return done.stdout;
  };
  const object = { Bucket: "photos", Key: "a//key" };
  const expectContent = async () => {
    const { Body } = await s3.send(new GetObjectCommand(object));
    expect(content.equals(await Body!.transformToByteArray())).toBe(true);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-compose-"));
    const [identity, credentials] = [join(folder, "identity.key"), join(folder, "keys.toml")];
    await Bun.write(identity, formatIdentity(await generateIdentity()));
    await Bun.write(
      credentials,
      `[keys.${keys.accessKeyId}]\nsecret = "${keys.secretAccessKey}"\n`,
    );
    const port = await freePort();
    const random = () => crypto.randomUUID().replaceAll("-", "");
    const settings = {
      MINIO_ACCESS_KEY: random(),
      MINIO_SECRET_KEY: random(),
      POSTGRES_PASSWORD: random(),
      GATEWAY_PORT: port,
      IDENTITY_FILE: identity,
      CREDENTIALS_FILE: credentials,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await Bun.write(join(folder, "env"), lines.join(""));
    await compose("up", "--build", "--wait");
    s3 = new S3Client({
      credentials: keys,
      endpoint: `http://127.0.0.1:${port}`,
      forcePathStyle: true,
      region: "us-east-1",
    });
  });

  afterAll(async () => {
    await compose("down", "--volumes");
    await rm(folder, { recursive: true });
  });

  test("one gateway serves what the other stored, and a new start keeps it", async () => {
    await s3.send(new CreateBucketCommand({ Bucket: object.Bucket }));
    await s3.send(new PutObjectCommand({ ...object, Body: content }));
    for (const one of ["gateway1", "gateway2"]) {
      await compose("kill", one);
      await expectContent();
      await compose("up", "--wait");
    }
    await compose("down");
    await compose("up", "--wait");
    await expectContent();
  });

  test("maintenance runs in a container beside them", async () => {
    const idk = async (...args: string[]) => compose("run", "--rm", "gateway1", ...args);
    expect(await idk("gateway", "check", "--deep", "--json")).toContain('"objects":1');
    expect(await idk("gateway", "gc", "--json")).toContain('"deleted":0');
  });
});
