import { join } from "node:path";
import { serverUrl } from "../servers/require-server.ts";

const SCRIPT = join(import.meta.dir, "../../script/minio");

/**
 * Provides a MinIO: the one that `script/test` started, or one that `script/minio` finds in the
 * environment or starts. It runs as long as this process and is shared by all its test files.
 *
 * @returns whether there is one; if not, the script has printed why
 */
export async function ensureMinio(): Promise<boolean> {
  if (serverUrl("minio") !== undefined) return true;
  // The child reads a pipe that closes when this process exits, however it exits.
  const command = 'printf "%s\\n" "$IDK_TEST_MINIO" && exec cat >/dev/null';
  const child = Bun.spawn([SCRIPT, "run", "bash", "-c", command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  let output = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += piece;
    if (output.includes("\n")) break;
  }
  const [address = ""] = output.split("\n");
  if (address === "") return false;
  process.env["IDK_TEST_MINIO"] = address;
  child.unref();
  return true;
}
