import { RUNTIME_FLAGS, type Report, reportSchema } from "@idk/bench";
import { join } from "node:path";
import { minioServer } from "../servers/s3-servers.ts";
import { serverUrl } from "../servers/require-server.ts";

export const ROOT: string = join(import.meta.dir, "../..");

/** What a run of `idk bench` was started with, and what it left. */
export interface BenchRun {
  readonly args: readonly string[];
  readonly code: number;
  /** What it printed, if it was captured. */
  readonly output: string;
}

export interface BenchOptions {
  /** The repository that is measured, by default this one. */
  readonly root?: string | undefined;
  /** Keeps the output for a failure instead of showing it while it runs. */
  readonly capture?: boolean | undefined;
}

/**
 * Runs `idk bench` from its sources in a process of its own, as a person would, with the MinIO and the
 * versitygw of this test run, if there are any.
 */
export async function bench(
  args: readonly string[],
  { root = ROOT, capture = false }: BenchOptions = {},
): Promise<BenchRun> {
  const where = capture ? "pipe" : "inherit";
  const argv = [process.execPath, ...RUNTIME_FLAGS, "packages/bench/src/main.ts", ...args];
  const child = Bun.spawn(argv, {
    cwd: root,
    // The tests' own mode is not that of a user.
    env: { ...process.env, ...storeVariables(), NODE_ENV: undefined },
    stdin: "ignore",
    stdout: where,
    stderr: where,
  });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout ? new Response(child.stdout).text() : "",
    child.stderr ? new Response(child.stderr).text() : "",
    child.exited,
  ]);
  return { args, code, output: stderr + stdout };
}

/**
 * Reads the report of a run.
 *
 * @throws Error with the output of the run if it wrote none
 */
export async function readReport(file: string, { args, code, output }: BenchRun): Promise<Report> {
  if (!(await Bun.file(file).exists())) {
    throw new Error(`idk bench ${args.join(" ")} wrote no report (${code}):\n${output}`);
  }
  return reportSchema.parse(await Bun.file(file).json());
}

function storeVariables(): Record<string, string> {
  if (serverUrl("minio") === undefined) return {};
  const { endpoint, accessKeyId, secretAccessKey } = minioServer();
  return {
    MINIO_ENDPOINT: endpoint,
    MINIO_ACCESS_KEY: accessKeyId,
    MINIO_SECRET_KEY: secretAccessKey,
  };
}
