import type { S3Server } from "../../servers/s3-servers.ts";
import { join } from "node:path";

const interpreter = process.env["IDK_REFERENCE_PYTHON"];

/** What tests that run Python lack, for `skipIfMissing`. */
export const missingPython: string[] = interpreter === undefined ? ["Python environment"] : [];

/** Runs `s3-tool.py` and returns the JSON it prints. */
export async function s3Tool(server: S3Server, ...args: string[]): Promise<unknown> {
  const env = {
    ENDPOINT: server.endpoint,
    ACCESS_KEY: server.accessKeyId,
    SECRET_KEY: server.secretAccessKey,
  };
  return JSON.parse(await python([join(import.meta.dir, "s3-tool.py"), ...args], env));
}

/** Runs the reference reader of the format on a folder of blobs. */
export async function referenceRead(
  folder: string,
  address: string,
  identity: string,
  out: string,
): Promise<unknown> {
  const read = ["read", "--dir", folder, "--address", address, "--identity", identity];
  const text = await python(["-m", "idk_reference", ...read, "--out", out], {
    PYTHONPATH: join(import.meta.dir, "../../../testdata/reference"),
  });
  return JSON.parse(text);
}

async function python(args: string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn([interpreter!, ...args], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`python ${args[0]} exited with ${exitCode}: ${stderr}`);
  return stdout;
}
