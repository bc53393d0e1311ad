import { join } from "node:path";
import { serverUrl } from "../servers/require-server.ts";

const SCRIPT = join(import.meta.dir, "../../script/minio");

/**
 * Sees to it that there is a MinIO: the one that `script/test` has started, or one that `script/minio`
 * finds in the environment or can start. That one lives as long as this process, and is found by all
 * test files in it.
 *
 * @returns whether there is one; where not, the script has said why
 */
export async function ensureMinio(): Promise<boolean> {
  if (serverUrl("minio") !== undefined) return true;
  // Its input is a pipe from here, which ends with this process, however that ends.
  const tell = 'printf "%s\\n" "$IDK_TEST_MINIO" && exec cat >/dev/null';
  const child = Bun.spawn([SCRIPT, "run", "bash", "-c", tell], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  let said = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += piece;
    if (said.includes("\n")) break;
  }
  const [address = ""] = said.split("\n");
  if (address === "") return false;
  process.env["IDK_TEST_MINIO"] = address;
  child.unref();
  return true;
}
