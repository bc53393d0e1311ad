import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { appendFile, chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
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

const succeeds = async (...argv: string[]) => (await run(root, argv)).exitCode === 0;

/** Whether Docker responds and Compose is installed. */
const composeRuns = async () =>
  Bun.which("docker") !== null &&
  (await succeeds("docker", "info")) &&
  (await succeeds("docker", "compose", "version"));

const missing = slow && !(await composeRuns()) ? ["Docker Compose with an engine"] : [];

(slow ? skipIfMissing(missing) : describe.skip)("the services of compose.yml", () => {
  const keys = { accessKeyId: "TEST", secretAccessKey: "a secret of this test" };
  const content = randomBytes(3 * 2 ** 20);
  let folder: string;
  let s3: S3Client;

  const compose = async (...args: string[]): Promise<string> => {
    const files = ["--file", "packaging/gateway/compose.yml", "--env-file", join(folder, "env")];
    const project = ["--project-name", "idk-gateway-test"];
    const argv = ["docker", "compose", ...files, ...project];
    const { exitCode, stdout, stderr } = await run(root, [...argv, ...args]);
    if (exitCode === 0) return stdout;
    const logs = await run(root, [...argv, "logs", "--tail", "50"]);
    throw new Error(`docker compose ${args.join(" ")}: ${stderr}\n${logs.stdout}`);
  };
  const object = { Bucket: "photos", Key: "a//key" };
  /** The client tries again while the balancer has not noticed which gateways respond. */
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
    // The containers run as another user.
    for (const file of [identity, credentials]) await chmod(file, 0o644);
    const port = await freePort();
    const random = () => crypto.randomUUID().replaceAll("-", "");
    const settings = {
      MINIO_ACCESS_KEY: random(),
      MINIO_SECRET_KEY: random(),
      POSTGRES_PASSWORD: random(),
      GATEWAY_PORT: port,
      // Not those of a gateway that somebody runs here.
      IDK_IMAGE: "idk-gateway-test",
      GATEWAY_SUBNET: "172.30.91.0/24",
      IDENTITY_FILE: identity,
      CREDENTIALS_FILE: credentials,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await Bun.write(join(folder, "env"), lines.join(""));
    // An interrupted test may have left volumes with other passwords.
    await compose("down", "--volumes", "--remove-orphans");
    await compose("build", "gateway1");
    await compose("up", "--wait");
    s3 = new S3Client({
      credentials: keys,
      endpoint: `http://127.0.0.1:${port}`,
      forcePathStyle: true,
      region: "us-east-1",
      maxAttempts: 10,
    });
    await s3.send(new CreateBucketCommand({ Bucket: object.Bucket }));
    await s3.send(new PutObjectCommand({ ...object, Body: content }));
  });

  afterAll(async () => {
    try {
      await compose("down", "--volumes");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("one gateway serves what the other stored, and a new start keeps it", async () => {
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
    const maintain = async (...args: string[]) =>
      JSON.parse(await compose("run", "--rm", "gateway1", "gateway", ...args, "--json"));
    expect(await maintain("check", "--deep")).toEqual({ objects: 1, faults: 0, ok: true });
    expect(await maintain("gc")).toMatchObject({ orphans: 0, deleted: 0, refused: null });
  });

  test("a lost catalog is rebuilt into a new database", async () => {
    await compose("stop", "gateway1", "gateway2");
    await compose("exec", "-T", "postgres", "createdb", "--username=idk", "idk2");
    await appendFile(join(folder, "env"), "POSTGRES_CATALOG=idk2\n");
    const spool = join(folder, "spool");
    await mkdir(spool);
    await chmod(spool, 0o777);
    const spooling = ["--volume", `${spool}:/spool`, "--env", "TMPDIR=/spool"];
    await compose("run", "--rm", ...spooling, "gateway1", "gateway", "rebuild");
    await compose("up", "--wait");
    await expectContent();
  });
});
