import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../../servers/certificate.ts";

const MAIN = join(import.meta.dir, "../../../packages/cli/src/main.ts");

/** What tests over TLS lack, for `skipIfMissing`. */
export const missingOpenssl: string[] = Bun.which("openssl") ? [] : ["openssl"];

/** A folder with a store, an identity, and a home of its own. */
export interface GatewayHome extends AsyncDisposable {
  readonly folder: string;
  /** A path in it. */
  path(name: string): string;
  /** Runs `idk` to its end. */
  idk(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Serves S3 until it is stopped, on a port of its own. */
  serve(...args: string[]): Promise<RunningGateway>;
}

/** `idk serve s3` in a process of its own. */
export interface RunningGateway extends AsyncDisposable {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The certificate, for clients, if it serves TLS. */
  readonly certificate: string | undefined;
  readonly process: Bun.Subprocess;
  /** What it has printed on standard error so far. */
  messages(): string;
  /** The lines of its access log so far. Those of the last moment come once it has stopped. */
  log(): Promise<readonly Record<string, unknown>[]>;
  /** @returns the exit code */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

/** @param env further variables for all commands, such as another store */
export async function gatewayHome(
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayHome> {
  const folder = await mkdtemp(join(tmpdir(), "idk-gateway-"));
  const path = (name: string): string => join(folder, name);
  const options = {
    cwd: folder,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      IDK_STORE: path("store"),
      IDK_IDENTITY: path("me.key"),
      ...env,
    },
    stdin: "ignore",
  } as const;
  const command = (args: readonly string[]): string[] => [
    process.execPath,
    "--no-env-file",
    MAIN,
    ...args,
  ];
  const idk: GatewayHome["idk"] = async (...args) => {
    const child = Bun.spawn(command(args), { ...options, stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  };
  await Bun.$`mkdir ${path("store")}`.quiet();
  const { code, stdout, stderr } = await idk("keygen", "-o", path("me.key"));
  if (code !== 0) throw new Error(stderr);
  await Bun.write(path("me.pub"), stdout);
  const running: RunningGateway[] = [];
  let count = 0;
  return {
    folder,
    path,
    idk,
    async serve(...args) {
      const log = path(`access-${count++}.log`);
      const child = Bun.spawn(command(["serve", "s3", "--listen", "127.0.0.1:0", ...args]), {
        ...options,
        stdout: Bun.file(log),
        stderr: "pipe",
      });
      const gateway = await started(child, log, args);
      running.push(gateway);
      return gateway;
    },
    async [Symbol.asyncDispose]() {
      for (const gateway of running) await gateway.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Child = Bun.Subprocess<"ignore", Bun.BunFile, "pipe">;

async function started(
  child: Child,
  log: string,
  args: readonly string[],
): Promise<RunningGateway> {
  let messages = "";
  const decoder = new TextDecoder();
  const ready = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const piece of child.stderr) {
      messages += decoder.decode(piece, { stream: true });
      if (/serving S3 at .*\n/u.test(messages)) {
        ready.resolve();
      }
    }
    ready.reject(new Error(`idk serve s3 ended: ${messages}`));
  })();
  await ready.promise;
  const [, endpoint = ""] = /serving S3 at (\S+)/u.exec(messages) ?? [];
  const named = args.indexOf("--credentials");
  const [, made = ""] = /(?:kept in|are those in) (.+)/u.exec(messages) ?? [];
  const keys = await keysOf(named === -1 ? made : (args[named + 1] ?? ""));
  const certificate = args[args.indexOf("--tls-cert") + 1];
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number> => {
    child.kill(signal);
    const code = await child.exited;
    await reading.catch(() => undefined);
    return code;
  };
  return {
    endpoint,
    ...keys,
    certificate: args.includes("--tls-cert") ? certificate : undefined,
    process: child,
    messages: () => messages,
    async log() {
      const text = await readFile(log, "utf8");
      // While it runs, the last line may have been written in part.
      const end = child.exitCode === null ? text.lastIndexOf("\n") + 1 : text.length;
      return text
        .slice(0, end)
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** The first key of a credentials file. */
async function keysOf(
  file: string,
): Promise<Pick<RunningGateway, "accessKeyId" | "secretAccessKey">> {
  const text = await readFile(file, "utf8");
  const [, accessKeyId = ""] = /\[keys\.(\S+)\]/u.exec(text) ?? [];
  const [, secretAccessKey = ""] = /secret = "(.+)"/u.exec(text) ?? [];
  return { accessKeyId, secretAccessKey };
}

/** Makes a certificate for 127.0.0.1, and returns the arguments that use it. */
export async function tlsArguments({ folder, path }: GatewayHome): Promise<string[]> {
  await makeCertificate(folder);
  return ["--tls-cert", path("public.crt"), "--tls-key", path("private.key")];
}

/** How clients connect, for `describe.each`. Clients send other forms of bodies over TLS. */
export const SCHEMES: readonly (readonly [scheme: string, missing: readonly string[]])[] = [
  ["HTTP", []],
  ["TLS", missingOpenssl],
];

/** A gateway over one scheme. */
export async function serveOver(home: GatewayHome, scheme: string): Promise<RunningGateway> {
  return home.serve(...(scheme === "TLS" ? await tlsArguments(home) : []));
}
