import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

setDefaultTimeout(90_000);

const root = join(import.meta.dir, "../..");
const preload = join(import.meta.dir, "no-provider-sdk.ts");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-lazy-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a program that fails if it loads a provider's SDK. */
async function run(program: string[], env: Record<string, string> = {}) {
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

const idk = (args: string[], env?: Record<string, string>) =>
  run([join(root, "packages/cli/src/main.ts"), ...args], env);

test("the preloaded plugin fails a program that loads an SDK", async () => {
  const program = join(import.meta.dir, "../servers/s3-servers.ts");
  const { stderr, exitCode } = await run([program]);
  expect(exitCode).not.toBe(0);
  expect(stderr).toMatch(/@(aws-sdk|smithy)\/.* is loaded/u);
});

test("idk on a folder loads no provider SDK", async () => {
  const path = (name: string) => join(folder, name);
  const ok = async (...args: string[]) => {
    const { stdout, stderr, exitCode } = await idk(args, {
      IDK_STORE: path("blobs"),
      IDK_IDENTITY: path("key"),
    });
    expect({ stderr, exitCode }).toMatchObject({ exitCode: 0 });
    return stdout.trim();
  };
  await writeFile(path("file"), "local");
  await ok("keygen", "--output", path("key"));
  const recipient = await ok("recipient");
  const address = await ok("put", "--recipient", recipient, path("file"));
  expect(await ok("get", address)).toBe("local");
});
