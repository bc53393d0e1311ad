import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import type { S3Server } from "./s3-servers.ts";
import type { Subprocess } from "bun";
import { tmpdir } from "node:os";

const cache = join(import.meta.dir, "../../.cache");

/** A server of the test's own, to be killed and started again at the same place. */
export interface OwnServer extends S3Server {
  /** What it is: a MinIO built by `script/minio`, or else a versitygw. */
  readonly kind: "minio" | "versitygw";
  start(): Promise<void>;
  /** Without a chance to finish anything. */
  kill(): Promise<void>;
  /** Ends it and removes its data. */
  remove(): Promise<void>;
}

/** The executables that there are. A MinIO may also run in Docker alone, and then there is none. */
export function ownServerKinds(): OwnServer["kind"][] {
  return (["minio", "versitygw"] as const).filter((kind) => executable(kind) !== undefined);
}

export interface OwnServerOptions {
  /** A folder for the server's files, by default a new one; the caller's own is left there. */
  readonly data?: string;
  /** A folder with `public.crt` and `private.key` for 127.0.0.1; with it the server speaks TLS. */
  readonly certificate?: string;
}

export async function startOwnServer(
  kind: OwnServer["kind"],
  { data, certificate }: OwnServerOptions = {},
): Promise<OwnServer> {
  const binary = executable(kind);
  if (binary === undefined) throw new Error(`there is no ${kind}; use ownServerKinds()`);
  const port = await freePort();
  const folder = data ?? (await mkdtemp(join(tmpdir(), "idk-server.")));
  const access = randomBytes(10).toString("hex");
  const secret = randomBytes(20).toString("hex");
  const objects = join(folder, "objects");
  await mkdir(objects, { recursive: true });
  const listen = `127.0.0.1:${port}`;
  const endpoint = `${certificate === undefined ? "http" : "https"}://${listen}`;
  const tls = certificate === undefined ? [] : tlsOptions[kind](certificate);
  const command = {
    minio: [binary, "server", "--quiet", ...tls, "--address", listen, objects],
    versitygw: [
      binary,
      "--quiet",
      ...tls,
      "--health",
      "/health",
      "--port",
      listen,
      "posix",
      objects,
    ],
  }[kind];
  const health = { minio: "/minio/health/cluster", versitygw: "/health" }[kind];

  // As script/lib/servers.sh keeps them, so that what a killed run leaves behind is ended by the next.
  const state = join(cache, "servers", `own-${process.pid}-${port}`);
  await mkdir(state, { recursive: true });
  await writeFile(join(state, "owner"), `${process.pid}\n`);
  if (data === undefined) await writeFile(join(state, "data"), `${folder}\n`);

  let child: Subprocess | undefined;
  const server: OwnServer = {
    kind,
    endpoint,
    accessKeyId: access,
    secretAccessKey: secret,
    async start() {
      child = Bun.spawn(command, {
        env: {
          ...process.env,
          MINIO_ROOT_USER: access,
          MINIO_ROOT_PASSWORD: secret,
          MINIO_BROWSER: "off",
          ROOT_ACCESS_KEY: access,
          ROOT_SECRET_KEY: secret,
        },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      });
      await writeFile(join(state, "pid"), `${child.pid}\n`);
      await untilHealthy(child, `${endpoint}${health}`);
    },
    async kill() {
      child?.kill("SIGKILL");
      await child?.exited;
    },
    async remove() {
      await server.kill();
      await rm(state, { recursive: true, force: true });
      if (data === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return server;
}

const tlsOptions: Record<OwnServer["kind"], (certificate: string) => string[]> = {
  minio: (folder) => ["--certs-dir", folder],
  versitygw: (folder) => [
    "--cert",
    join(folder, "public.crt"),
    "--key",
    join(folder, "private.key"),
  ],
};

function executable(kind: OwnServer["kind"]): string | undefined {
  const built = join(cache, "go/bin", kind);
  return existsSync(built) ? built : (Bun.which(kind) ?? undefined);
}

async function untilHealthy(child: Subprocess, url: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (Date.now() < end && child.exitCode === null) {
    // Whose certificate it is does not matter to the question whether it is up.
    const answer = await fetch(url, {
      signal: AbortSignal.timeout(2000),
      tls: { rejectUnauthorized: false },
    }).catch(() => undefined);
    if (answer?.ok) return;
    await Bun.sleep(50);
  }
  throw new Error(`the server does not answer at ${url}`);
}

/**
 * A port of the loopback that nothing listens on, below the range that systems hand out for outgoing
 * connections: while the server is down, a client that tries again must not get its port.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => {
      probe.close(resolve);
    });
    return port;
  }
}
