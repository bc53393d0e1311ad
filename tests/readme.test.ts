import { describe, expect, test } from "bun:test";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { minioServer } from "./servers/s3-servers.ts";
import { needs } from "./servers/needs.ts";
import { tmpdir } from "node:os";

const root = join(import.meta.dir, "..");
const readme = await Bun.file(join(root, "README.md")).text();

/** The fenced blocks of one language, in order. */
function blocks(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gmsu");
  return Array.from(readme.matchAll(fence), ([, code]) => code!);
}

/** A home without a configuration: the reader's own must count for nothing, and stay as it is. */
function homeIn(folder: string): Record<string, string> {
  return { XDG_CONFIG_HOME: join(folder, ".config"), XDG_DATA_HOME: join(folder, ".data") };
}

/** A folder from which the packages and the command are found as after an installation. */
async function inNewFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "idk-readme-"));
  try {
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    await symlink(join(root, "script/idk"), join(folder, "idk"));
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function run(folder: string, command: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { ...process.env, ...env, PATH: `${folder}:${process.env["PATH"]}` },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { stdout, stderr, exitCode: await child.exited };
}

describe("the README", () => {
  test("shows a program that prints what its comments say", async () => {
    const [program] = blocks("ts");
    const { stdout, stderr, exitCode } = await inNewFolder(async (folder) => {
      await writeFile(join(folder, "example.ts"), program!);
      return run(folder, [process.execPath, "example.ts"]);
    });
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    const promised = Array.from(
      program!.matchAll(/console\.log.*\/\/ (.*)$/gmu),
      ([, said]) => said!,
    );
    expect(promised.length).toBe(2);
    expect(stdout.trimEnd().split("\n")).toEqual(promised);
  });

  test("shows a session of the command that works, line by line", async () => {
    const session = blocks("sh").join("\n");
    const { stdout, stderr, exitCode } = await inNewFolder(async (folder) =>
      run(folder, ["bash", "-euo", "pipefail", "-c", session], homeIn(folder)),
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const lines = stdout.split("\n");
    expect(lines).toContain("minutes");
    const address = /^[0-9a-f]{64}$/u;
    expect(lines.filter((line) => address.test(line)).length).toBeGreaterThanOrEqual(4);
  });
});

needs("minio")("the README, with an object store", () => {
  test("shows a session that works", async () => {
    const { endpoint, accessKeyId, secretAccessKey } = minioServer();
    const { hostname, port } = new URL(endpoint);
    // The names in the session are the reader's own; the bucket must be this run's alone.
    const bucket = `attic-${crypto.randomUUID()}`;
    const setup = "idk keygen -o alice.key > alice.pub; echo the minutes > minutes.txt";
    const session = blocks("sh minio").join("\n").replaceAll("attic", bucket);
    const { stdout, stderr, exitCode } = await inNewFolder(async (folder) =>
      run(folder, ["bash", "-euo", "pipefail", "-c", `${setup}\n${session}`], {
        ...homeIn(folder),
        MINIO_ENDPOINT: hostname,
        MINIO_PORT: port,
        MINIO_ACCESS_KEY: accessKeyId,
        MINIO_SECRET_KEY: secretAccessKey,
      }),
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toContain("the minutes");
    expect(stdout).toMatch(/attestation +yes/u);
    expect(stderr).toContain("1 by the store's word");
  });
});

describe("script/demo", () => {
  const demo = join(root, "script/demo");

  test("gives files back as they were, and refuses a damaged copy", async () => {
    const file = join(root, "bun.lock");
    const { stdout, exitCode } = await run(root, [demo, file]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^bun\.lock .* same /mu);
    expect(stdout).not.toContain("DIFFERENT");
    expect(stdout).toContain('Reading it is refused, code "address"');
  });

  test("says what is wrong with a file it cannot read", async () => {
    for (const file of ["./no-such-file", root]) {
      const { stderr, exitCode } = await run(root, [demo, file]);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^demo: .*$/mu);
      expect(stderr).not.toContain("    at ");
    }
  });
});
