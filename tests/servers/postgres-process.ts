import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomBytes } from "node:crypto";
import { SQL } from "bun";
import { tmpdir } from "node:os";
import { freePort, serverState } from "./server-process.ts";

/** A PostgreSQL that one test starts for itself, to kill, stop and start it again on the same port. */
export interface PostgresProcess {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  start(): Promise<void>;
  /** Kills all of its processes at once. */
  kill(): Promise<void>;
  /** Stops all of its processes: connections stay open, and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Kills it and deletes its data. */
  remove(): Promise<void>;
}

/** For `skipIfMissing`. */
export const missingPostgres: readonly string[] =
  binaries() === undefined ? ["executable of PostgreSQL"] : [];

/** The folder of its programs: the newest of Debian's, or the one of `initdb` on the PATH. */
function binaries(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a));
  const found = Bun.which("initdb");
  return [
    ...newest.map((version) => join(debian, version, "bin")),
    ...(found === null ? [] : [dirname(realpathSync(found))]),
  ].find((folder) => ["initdb", "postgres"].every((name) => existsSync(join(folder, name))));
}

export async function startPostgres(): Promise<PostgresProcess> {
  const programs = binaries();
  if (programs === undefined) throw new Error("no PostgreSQL is installed; check missingPostgres");
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "idk-server."));
  const secret = randomBytes(20).toString("hex");
  await writeFile(join(folder, "secret"), `${secret}\n`);
  const cluster = join(folder, "cluster");
  const url = `postgres://idk:${secret}@127.0.0.1:${port}/postgres`;
  const isRoot = process.getuid?.() === 0;
  // It refuses to run as root.
  const asUser = isRoot
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    : [];
  const own = async (): Promise<void> => {
    if (!isRoot) return;
    const { stdout } = Bun.spawnSync(["id", "-u", "postgres"]);
    const user = Number(stdout.toString());
    for (const path of [folder, join(folder, "secret")]) await chown(path, user, user);
  };
  const state = serverState(port);
  await mkdir(state, { recursive: true });
  await writeFile(join(state, "owner"), `${process.pid}\n`);
  await writeFile(join(state, "data"), `${folder}\n`);
  await writeFile(join(state, "signal"), "INT\n");

  let child: ChildProcess | undefined;
  /** A group of its own, so that all of its processes get a signal at once. */
  const signal = (name: NodeJS.Signals): void => {
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch {
      // They have all exited.
    }
  };
  const server: PostgresProcess = {
    url,
    async start() {
      const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
      const command = [
        ...asUser,
        join(programs, "postgres"),
        "-D",
        cluster,
        "-p",
        `${port}`,
        ...settings.flatMap((setting) => ["-c", setting]),
      ];
      // What is left of killed ones may hold its memory for a moment.
      for (const end = Date.now() + 60_000; ;) {
        const started = spawn(command[0]!, command.slice(1), {
          cwd: folder,
          detached: true,
          stdio: "ignore",
        });
        child = started;
        await writeFile(join(state, "pid"), `${started.pid}\n`);
        while (started.exitCode === null && Date.now() < end) {
          if (await responds(url)) return;
          await Bun.sleep(50);
        }
        if (Date.now() > end) throw new Error("PostgreSQL does not start");
        await Bun.sleep(100);
      }
    },
    async kill() {
      const killed = child;
      if (killed === undefined || killed.exitCode !== null || killed.signalCode !== null) return;
      const exited = new Promise<void>((resolve) => {
        killed.once("exit", () => resolve());
      });
      signal("SIGKILL");
      await exited;
    },
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    async remove() {
      await server.kill();
      await rm(state, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await own();
    const init = Bun.spawnSync(
      [
        ...asUser,
        join(programs, "initdb"),
        `--pgdata=${cluster}`,
        "--username=idk",
        "--encoding=UTF8",
        "--no-locale",
        "--no-sync",
        "--auth=scram-sha-256",
        `--pwfile=${join(folder, "secret")}`,
      ],
      { cwd: folder },
    );
    if (init.exitCode !== 0) throw new Error(`initdb: ${init.stderr.toString()}`);
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return server;
}

async function responds(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1, connectionTimeout: 2 });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.close({ timeout: 0 });
  }
}
