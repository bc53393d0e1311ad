/** `idk serve s3`, as a process of its own with its defaults, over a folder of the object store. */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isolatedUserFolders } from "../../harness/files.ts";
import { RUNTIME_FLAGS } from "../../harness/processes.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { ObjectStoreAccess } from "../../suite.ts";

export interface Served extends AsyncDisposable {
  /** Access to a bucket of the gateway. */
  readonly access: ObjectStoreAccess;
  readonly pid: number;
  /** From the start of the process until it accepts requests. */
  readonly startSeconds: number;
}

/** What gateways are started with. */
export interface Program {
  /** The entry point of the command. */
  readonly script: string;
  /** For keys, and for what gateways write. */
  readonly folder: string;
  /** The text of the identity of all gateways here: a store belongs to one identity. */
  readonly identity: string;
}

export interface ServeOptions extends Program {
  /** What the gateway stores in. */
  readonly store: ObjectStoreAccess;
  /** A SQLite file with a bucket `BUCKET`. By default a new one, in which the bucket is made. */
  readonly catalog?: string | undefined;
  readonly signal: AbortSignal;
}

/** The bucket of a gateway. */
export const BUCKET = "bench";

/** Where a gateway keeps its blobs in a folder of the object store. */
export const BELOW = "s3";

/**
 * Starts a gateway. It is killed at the end, because it would store a snapshot of its catalog first.
 *
 * @throws Error with its messages if it ends before it serves; the signal's reason
 */
export async function serve(options: ServeOptions): Promise<Served> {
  const { script, identity, store, catalog, signal } = options;
  const home = await mkdtemp(join(options.folder, "gateway-"));
  const path = (name: string): string => join(home, name);
  const keys = { accessKeyId: "BENCH", secretAccessKey: randomBytes(20).toString("hex") };
  await mkdir(path("user"));
  await writeFile(path("idk.key"), `${identity}\n`, { mode: 0o600 });
  const credentials = `[keys.${keys.accessKeyId}]\nsecret = "${keys.secretAccessKey}"\n`;
  await writeFile(path("credentials"), credentials, { mode: 0o600 });
  const files = ["--credentials", path("credentials"), "--catalog", catalog ?? path("catalog")];
  const listen = ["--listen", "127.0.0.1:0"];
  signal.throwIfAborted();
  const start = performance.now();
  const child = Bun.spawn(
    [process.execPath, ...RUNTIME_FLAGS, script, "serve", "s3", ...listen, ...files],
    {
      env: {
        ...process.env,
        ...isolatedUserFolders(home),
        IDK_STORE: `minio:///${store.bucket}/${store.prefix}`,
        IDK_IDENTITY: path("idk.key"),
        MINIO_ENDPOINT: store.endpoint,
        MINIO_ACCESS_KEY: store.accessKeyId,
        MINIO_SECRET_KEY: store.secretAccessKey,
        NODE_ENV: undefined,
      },
      stdin: "ignore",
      stdout: Bun.file(path("access.log")),
      stderr: "pipe",
      signal,
    },
  );
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  try {
    const endpoint = await endpointOf(child.stderr);
    const startSeconds = (performance.now() - start) / 1000;
    const access = { ...keys, endpoint, region: "us-east-1", bucket: BUCKET, prefix: "" };
    if (catalog === undefined) await bareS3(access).createBucket();
    return { access, pid: child.pid, startSeconds, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    signal.throwIfAborted();
    throw error;
  }
}

/** The address that a gateway prints once it serves. What it prints later is read, so that it never waits. */
async function endpointOf(stderr: ReadableStream<Uint8Array>): Promise<string> {
  const found = Promise.withResolvers<string>();
  const decoder = new TextDecoder();
  let messages = "";
  const read = async (): Promise<void> => {
    for await (const piece of stderr) {
      messages += decoder.decode(piece, { stream: true });
      const [, endpoint] = /serving S3 at (\S+)\n/u.exec(messages) ?? [];
      if (endpoint !== undefined) found.resolve(endpoint);
    }
    found.reject(new Error(`the gateway ended: ${messages}`));
  };
  void read().catch(found.reject);
  return found.promise;
}
