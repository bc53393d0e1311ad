import {
  homeIn,
  inNewFolder,
  minioVariables,
  readBlocks,
  readSession,
  root,
  run,
  runSession,
  withOwnBucket,
} from "./documents.ts";
import { describe, expect, test } from "bun:test";
import { requireServer } from "./servers/require-server.ts";
import { join } from "node:path";
import { realpath, writeFile } from "node:fs/promises";

const ADDRESS = /^[0-9a-f]{64}$/u;

describe("the README", () => {
  test("has a program that prints what its comments say", async () => {
    const [program] = await readBlocks("README.md", "ts");
    const { stdout, stderr, exitCode } = await inNewFolder(async (folder) => {
      await writeFile(join(folder, "example.ts"), program!);
      return run(folder, [process.execPath, "example.ts"]);
    });
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    const expected = Array.from(
      program!.matchAll(/console\.log.*\/\/ (.*)$/gmu),
      ([, comment]) => comment!,
    );
    expect(expected.length).toBe(2);
    expect(stdout.trimEnd().split("\n")).toEqual(expected);
  });

  test("installs the command by a link on the PATH", async () => {
    const commands = await readSession("README.md", "sh install");
    await inNewFolder(async (folder) => {
      const bin = join(folder, ".local/bin");
      const script = `PATH=${bin}:$PATH\n${commands}`;
      const env = { ...homeIn(folder), HOME: folder };
      const result = await run(folder, ["bash", "-euc", script], env, { cwd: root });
      expect(result).toMatchObject({ exitCode: 0 });
      expect(result.stdout).toMatch(/^idk \d/u);
      expect(await realpath(join(bin, "idk"))).toBe(await realpath(join(root, "script/idk")));
    });
  });

  test("has a session that backs up a folder, and puts, lists, inspects and shares a file", async () => {
    const session = await readSession("README.md", "sh");
    await inNewFolder(async (folder) => {
      const { stdout, stderr, exitCode } = await runSession(folder, session);
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
      expect(stdout.match(/^[0-9a-f]{12} .* letters$/gmu)?.length).toBe(2);
      expect(stdout.split("\n")).toContain("the minutes");
      expect(stdout).toMatch(/^[0-9a-f]{64} +12 bytes .* minutes\.txt$/mu);
      expect(stderr).toMatch(/^checked \d+ blobs, .*; none failed/mu);
      expect(stdout).toMatch(/^recipients +1/mu);
      expect(await Bun.file(join(folder, "copy.txt")).text()).toBe("the minutes\n");
    });
  });
});

requireServer("minio")("the README, with an object store", () => {
  /** Types the commands into a shell, because the first one opens a shell that reads the others. */
  async function typeFirstFile(folder: string) {
    const [lines, ...others] = await readBlocks("README.md", "sh first file");
    expect(others).toEqual([]);
    const commands = lines!.trimEnd().split("\n");
    expect(commands.length).toBe(6);
    const config = Bun.file(join(folder, ".config/idk/config.toml"));
    const configBefore = (await config.exists()) ? await config.text() : undefined;
    const env = { ...homeIn(folder), ...minioVariables() };
    const stdin = withOwnBucket(lines!);
    const typed = await run(folder, ["bash", "-eu"], env, { cwd: root, stdin });
    expect(typed).toMatchObject({ exitCode: 0 });
    const store = /^created +store main: (minio:\/\/\/attic-\S+)$/mu.exec(typed.stdout)?.[1];
    expect(store).toBeDefined();
    expect(typed.stderr).not.toContain("warning");
    const address = typed.stdout.split("\n").find((line) => ADDRESS.test(line))!;
    expect(address).toMatch(ADDRESS);
    expect(typed.stdout).toMatch(/^snapshot [0-9a-f]{20} {2}docs$/mu);
    expect(typed.stdout).toMatch(/^restored .* in \S*\/tmp/mu);
    // The server ends with the shell, so it must not become the default store.
    expect((await config.exists()) ? await config.text() : undefined).toBe(configBefore);
    const identity = join(folder, ".data/idk/identity.key");
    const back = await run(folder, ["idk", "get", address, "--store", store!, "-i", identity], env);
    expect(back).toMatchObject({ exitCode: 0, stderr: "" });
    expect(back.stdout).toBe(await Bun.file(join(root, "README.md")).text());
  }

  test("stores a first file and a folder in six commands", () => inNewFolder(typeFirstFile));

  test("stores it as well after the session with a folder", () =>
    inNewFolder(async (folder) => {
      const session = await runSession(folder, await readSession("README.md", "sh"));
      expect(session).toMatchObject({ exitCode: 0 });
      await typeFirstFile(folder);
    }));
});

describe("script/demo", () => {
  const demo = join(root, "script/demo");

  test("gets files back unchanged, and rejects a damaged copy", async () => {
    const file = join(root, "bun.lock");
    const { stdout, exitCode } = await run(root, [demo, file]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^bun\.lock .* same /mu);
    expect(stdout).not.toContain("DIFFERENT");
    expect(stdout).toContain('Reading it is refused, code "address"');
  });

  test("names a file that it cannot read", async () => {
    for (const file of ["./no-such-file", root]) {
      const { stderr, exitCode } = await run(root, [demo, file]);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^demo: .*$/mu);
      expect(stderr).not.toContain("    at ");
    }
  });
});
