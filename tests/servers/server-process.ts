import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import type { S3Server } from "./s3-servers.ts";
import type { Subprocess } from "bun";
import { tmpdir } from "node:os";

const cache = join(import.meta.dir, "../../.cache");

/** A server that one test starts for itself, to kill it and start it again on the same port. */
export interface ServerProcess extends S3Server {
  readonly kind: "minio" | "versitygw";
  start(): Promise<void>;
  /** Sends SIGKILL, so that the server cannot finish anything. */
  kill(): Promise<void>;
  /** Stops the process: connections stay open, and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Kills it and deletes its data. */
  remove(): Promise<void>;
}

/** The folder of a server's state, for its process and port. */
export function serverState(port: number): string {
  return join(cache, "servers", `own-${process.pid}-${port}`);
}

/** The servers whose executable is installed: MinIO may be available only in Docker. */
export function installedServers(): ServerProcess["kind"][] {
  return (["minio", "versitygw"] as const).filter((kind) => executable(kind) !== undefined);
}

export interface ServerOptions {
  /** A folder for the server's files; by default a new one. The caller deletes its own. */
  readonly data?: string;
  /** A folder with `public.crt` and `private.key` for 127.0.0.1, to serve TLS. */
  readonly certificate?: string;
  /** Further variables for the server. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startServer(
  kind: ServerProcess["kind"],
  { data, certificate, env = {} }: ServerOptions = {},
): Promise<ServerProcess> {
  const binary = executable(kind);
  if (binary === undefined) throw new Error(`${kind} is not installed; check installedServers()`);
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

  // The state that script/lib/servers.sh keeps, so that the next run stops the servers of a killed one.
  const state = serverState(port);
  await mkdir(state, { recursive: true });
  await writeFile(join(state, "owner"), `${process.pid}\n`);
  if (data === undefined) await writeFile(join(state, "data"), `${folder}\n`);

  let child: Subprocess | undefined;
  const server: ServerProcess = {
    kind,
    endpoint,
    accessKeyId: access,
    secretAccessKey: secret,
    async start() {
      child = Bun.spawn(command, {
        env: {
          ...process.env,
          ...env,
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
    pause: () => child?.kill("SIGSTOP"),
    resume: () => child?.kill("SIGCONT"),
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

const tlsOptions: Record<ServerProcess["kind"], (certificate: string) => string[]> = {
  minio: (folder) => ["--certs-dir", folder],
  versitygw: (folder) => [
    "--cert",
    join(folder, "public.crt"),
    "--key",
    join(folder, "private.key"),
  ],
};

/** The path of an installed server, or undefined. */
export function executable(kind: ServerProcess["kind"]): string | undefined {
  const built = join(cache, "go/bin", kind);
  return existsSync(built) ? built : (Bun.which(kind) ?? undefined);
}

async function untilHealthy(child: Subprocess, url: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (Date.now() < end && child.exitCode === null) {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(2000),
      // The certificate is self-signed.
      tls: { rejectUnauthorized: false },
    }).catch(() => undefined);
    if (response?.ok) return;
    await Bun.sleep(50);
  }
  throw new Error(`no server responds at ${url}`);
}

/**
 * A free port on the loopback interface, below the ephemeral range: while the server is down, a
 * client that retries must not be assigned the server's port for its outgoing connection.
 */
export async function freePort(): Promise<number> {
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
