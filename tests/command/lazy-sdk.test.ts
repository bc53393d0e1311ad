import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { requireServer } from "../servers/require-server.ts";
import { minioServer, newBucket } from "../servers/s3-servers.ts";
import { minioVariables } from "../documents.ts";

setDefaultTimeout(90_000);

const root = join(import.meta.dir, "../..");
const NO_SDK = join(import.meta.dir, "no-provider-sdk.ts");
const NO_SLOW_MODULES = join(import.meta.dir, "no-slow-modules.ts");
const MAIN = join(root, "packages/cli/src/main.ts");
let folder: string;
let recipient: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-lazy-"));
  await writeFile(path("file"), "local");
  await symlink(join(root, "packages/cli/node_modules"), path("node_modules"));
  const ok = commands(NO_SDK, "sdk");
  await ok("keygen", "--output", path("key"));
  recipient = await ok("recipient");
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a program after a script that fails it if it loads what it should not. */
async function run(preload: string, program: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, "--preload", preload, ...program], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { stdout, stderr, exitCode: await child.exited };
}

/** Runs commands on a store of their own, and returns what each prints. */
const commands = (preload: string, name: string, main = MAIN) => {
  const env = { IDK_STORE: path(`${name}-blobs`), IDK_IDENTITY: path("key") };
  return async (...args: string[]) => {
    const { stdout, stderr, exitCode } = await run(preload, [main, ...args], env);
    expect({ stderr, exitCode }).toMatchObject({ exitCode: 0 });
    return stdout.trim();
  };
};
const path = (name: string) => join(folder, name);

test("the preloaded plugin fails a program that loads an SDK", async () => {
  const program = join(import.meta.dir, "../servers/s3-servers.ts");
  const { stderr, exitCode } = await run(NO_SDK, [program]);
  expect(exitCode).not.toBe(0);
  expect(stderr).toMatch(/@(aws-sdk|smithy)\/.* is loaded/u);
});

test("idk on a folder loads no provider SDK", async () => {
  const ok = commands(NO_SDK, "sdk");
  const address = await ok("put", "--recipient", recipient, path("file"));
  expect(await ok("get", address)).toBe("local");
});

requireServer("minio")("idk on MinIO", () => {
  test.each(["minio", "s3"])(
    "loads no provider SDK and no slow module to store and fetch, with %s://",
    async (kind) => {
      const server = minioServer();
      const bucket = await newBucket(server);
      const keys = minioVariables();
      const env = {
        ...keys,
        AWS_ACCESS_KEY_ID: keys["MINIO_ACCESS_KEY"]!,
        AWS_SECRET_ACCESS_KEY: keys["MINIO_SECRET_KEY"]!,
        IDK_IDENTITY: path("key"),
      };
      const url =
        kind === "minio"
          ? `minio:///${bucket.name}?tls=0`
          : `s3://${bucket.name}?endpoint=${server.endpoint}&region=us-east-1`;
      for (const preload of [NO_SDK, NO_SLOW_MODULES]) {
        const ok = async (...args: string[]) => {
          const store = ["--store", url];
          const { stdout, stderr, exitCode } = await run(preload, [MAIN, ...args, ...store], env);
          expect({ stderr, exitCode }).toMatchObject({ exitCode: 0 });
          return stdout.trim();
        };
        const address = await ok("put", "--recipient", recipient, path("file"));
        expect(await ok("get", address)).toBe("local");
        expect(await ok("stat", address)).toContain("5 bytes");
      }
      await bucket.remove();
    },
    // On a busy machine, a response may take over half a second, and then the server is tested.
    { timeout: 90_000, retry: 2 },
  );

  test("of the published scripts, it loads the parser of listings only to list", async () => {
    const bucket = await newBucket(minioServer());
    const dist = path("object-stores");
    await built(dist);
    for (const name of await readdir(dist)) {
      if (!/^(?:main|run|object-stores)\.cjs(?:\.jsc)?$/u.test(name)) await rm(join(dist, name));
    }
    const env = { ...minioVariables(), IDK_IDENTITY: path("key") };
    const idk = (...args: string[]) => {
      const store = ["--store", `minio:///${bucket.name}?tls=0`];
      return run(NO_SDK, [join(dist, "main.cjs"), ...args, ...store], env);
    };
    const stored = await idk("put", "--recipient", recipient, path("file"));
    expect(stored).toMatchObject({ stderr: "", exitCode: 0 });
    const address = stored.stdout.trim();
    expect((await idk("get", address)).stdout).toBe("local");
    // To find the rest of an address, it lists.
    const { stderr, exitCode } = await idk("get", address.slice(0, 20));
    expect({ exitCode, stderr }).not.toMatchObject({ exitCode: 0 });
    expect(stderr).toContain("xml.cjs");
    await bucket.remove();
  });
});

test("the preloaded plugin fails a command that loads slow modules of Node", async () => {
  const keys = ["keygen", "--writer", "--output", path("writer")];
  const { stderr, exitCode } = await run(NO_SLOW_MODULES, [MAIN, ...keys]);
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain("node:crypto is loaded");
});

test("idk put, get and stat of a small file load none of them", async () => {
  const ok = commands(NO_SLOW_MODULES, "small");
  const address = await ok("put", "--recipient", recipient, path("file"));
  expect(await ok("get", address)).toBe("local");
  await ok("get", address, "--output", path("fetched"));
  expect(await Bun.file(path("fetched")).text()).toBe("local");
  expect(await ok("stat", address)).toContain("5 bytes");
});

test("idk snapshots loads none of them", async () => {
  const ok = commands(NO_SDK, "backups");
  await ok("backup", path("file"), "--name", "daily", "--recipient", recipient);
  const listed = await commands(NO_SLOW_MODULES, "backups")("snapshots");
  expect(listed).toContain("daily");
});

test("of the published scripts, they load the first part of the command only", async () => {
  const dist = path("dist");
  await built(dist);
  for (const name of await readdir(dist)) {
    if (!/^(?:main|run)\.cjs(?:\.jsc)?$/u.test(name)) await rm(join(dist, name));
  }
  const ok = commands(NO_SLOW_MODULES, "published", join(dist, "main.cjs"));
  const address = await ok("put", "--recipient", recipient, path("file"));
  expect(await ok("get", address)).toBe("local");
  expect(await ok("stat", address)).toContain("5 bytes");
  // Other commands need the parts that are missing.
  expect((await run(NO_SLOW_MODULES, [join(dist, "main.cjs"), "copy"])).exitCode).not.toBe(0);
});

async function built(dist: string): Promise<void> {
  const child = Bun.spawn([process.execPath, join(root, "packages/cli/bundle.ts"), dist], {
    stderr: "inherit",
  });
  expect(await child.exited).toBe(0);
}
