import { describe, expect, test } from "bun:test";
import { homeIn, inNewFolder, readBlocks, root, run, runSession } from "./documents.ts";
import { minioServer } from "./servers/s3-servers.ts";
import { join } from "node:path";
import { needs } from "./servers/needs.ts";
import { writeFile } from "node:fs/promises";

const blocks = (info: string): Promise<string[]> => readBlocks("README.md", info);

describe("the README", () => {
  test("shows a program that prints what its comments say", async () => {
    const [program] = await blocks("ts");
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
    const session = (await blocks("sh")).join("\n");
    const { stdout, stderr, exitCode } = await inNewFolder((folder) => runSession(folder, session));
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const lines = stdout.split("\n");
    expect(lines).toContain("minutes");
    const address = /^[0-9a-f]{64}$/u;
    expect(lines.filter((line) => address.test(line)).length).toBeGreaterThanOrEqual(4);
  });
});

needs("minio")("the README, with an object store", () => {
  const variables = () => {
    const { endpoint, accessKeyId, secretAccessKey } = minioServer();
    const { hostname, port } = new URL(endpoint);
    return {
      MINIO_ENDPOINT: hostname,
      MINIO_PORT: port,
      MINIO_ACCESS_KEY: accessKeyId,
      MINIO_SECRET_KEY: secretAccessKey,
    };
  };
  // The names in the sessions are the reader's own; the bucket must be this run's alone.
  const bucket = (): string => `attic-${crypto.randomUUID()}`;

  test("brings a first file into it in three commands", async () => {
    const [lines, ...others] = await blocks("sh first file");
    expect(others).toEqual([]);
    const commands = lines!.trimEnd().split("\n");
    expect(commands.length).toBe(3);
    await inNewFolder(async (folder) => {
      const env = { ...homeIn(folder), ...variables() };
      // As typed: the shell that the first one opens reads what follows.
      const stdin = lines!.replaceAll("attic", bucket());
      const typed = await run(folder, ["bash", "-eu"], env, { cwd: root, stdin });
      expect(typed).toMatchObject({ exitCode: 0 });
      expect(typed.stdout).toContain("created  store main: minio:///attic-");
      expect(typed.stderr).not.toContain("warning");
      const address = typed.stdout.trimEnd().split("\n").at(-1)!;
      const back = await run(folder, ["idk", "get", address], env);
      expect(back).toMatchObject({ exitCode: 0, stderr: "" });
      expect(back.stdout).toBe(await Bun.file(join(root, "README.md")).text());
    });
  });

  test("shows a session that works", async () => {
    const setup = "idk keygen -o alice.key > alice.pub; echo the minutes > minutes.txt";
    const session = (await blocks("sh minio")).join("\n").replaceAll("attic", bucket());
    const { stdout, stderr, exitCode } = await inNewFolder((folder) =>
      runSession(folder, `${setup}\n${session}`, variables()),
    );
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toContain("the minutes");
    expect(stdout).toMatch(/checksums +yes/u);
    expect(stderr).toContain("1 by server checksum");
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
