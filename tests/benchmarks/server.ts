import { join } from "node:path";
import { serverUrl } from "../servers/require-server.ts";

const SCRIPTS = join(import.meta.dir, "../../script");

/**
 * Provides a MinIO: the one that `script/test` started, or one that `script/minio` finds in the
 * environment or starts. It runs as long as this process and is shared by all its test files.
 *
 * @returns whether there is one; if not, the script has printed why
 */
export async function ensureMinio(): Promise<boolean> {
  return serverUrl("minio") !== undefined || provide("minio", "IDK_TEST_MINIO");
}

/**
 * Provides a Python with boto3, for the suites that need one.
 *
 * @returns whether there is one; if not, the script has printed why
 */
export async function ensurePython(): Promise<boolean> {
  const variable = "IDK_REFERENCE_PYTHON";
  return Boolean(process.env[variable]) || provide("python", variable);
}

/** Sets a variable to what a script sets it to, and lets the script run as long as this process. */
async function provide(script: string, variable: string): Promise<boolean> {
  // The child reads a pipe that closes when this process exits, however it exits.
  const command = `printf "%s\\n" "$${variable}" && exec cat >/dev/null`;
  const child = Bun.spawn([join(SCRIPTS, script), "run", "bash", "-c", command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  let output = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += piece;
    if (output.includes("\n")) break;
  }
  const [value = ""] = output.split("\n");
  if (value === "") return false;
  process.env[variable] = value;
  child.unref();
  return true;
}
