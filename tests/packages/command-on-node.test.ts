import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { cleanNpm, emptyProject, expectPage, ok, root, run } from "./projects.ts";
import { basename, join } from "node:path";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

/*
 * The command installed with npm by a user with an empty home folder, on a machine that has Node and
 * no Bun.
 */

setDefaultTimeout(180_000);

const npm = Bun.which("npm");
const node = Bun.which("node");

skipIfMissing(npm === null || node === null ? ["npm"] : [])("the command on Node alone", () => {
  let folder: string;
  /** Where the command works. */
  let at: string;
  /** The installed package. */
  let installed: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-command-on-node-"));
    const packed = join(folder, "packed");
    const command = [process.execPath, "pm", "pack", "--destination", packed];
    await ok(command, join(root, "packages/cli"));
    const tarball = join(packed, (await readdir(packed))[0]!);

    // Only what Node comes with; another folder of the PATH may have Bun.
    const bin = join(folder, "bin");
    await mkdir(bin);
    for (const path of [node, npm]) await symlink(path!, join(bin, basename(path!)));
    const prefix = join(folder, "global");
    env = await cleanNpm(folder, `${join(prefix, "bin")}:${bin}:/usr/bin:/bin`);
    expect(Bun.which("bun", { PATH: env["PATH"]! })).toBeNull();
    await ok([npm!, "install", "--global", "--prefix", prefix, tarball], folder, env);
    installed = join(prefix, "lib/node_modules/@idk/cli");
    at = await emptyProject(folder, "work");
  });
  afterAll(() => rm(folder, { recursive: true }));

  const idk = (...args: string[]) => ok(["idk", ...args], at, env);

  test("npm installs one of the packages of Bun", async () => {
    expect(await readdir(join(installed, "node_modules/@oven"))).toHaveLength(1);
  });

  test("stores and fetches content, in threads too", async () => {
    await idk("init", "--store", "./safe", "--no-passphrase");
    await writeFile(join(at, "small"), "the minutes");
    expect(await idk("get", (await idk("put", "small")).trim())).toBe("the minutes");

    const large = crypto
      .getRandomValues(new Uint8Array(2 ** 16))
      .toHex()
      .repeat(264);
    expect(large).toHaveLength(33 * 2 ** 20);
    await writeFile(join(at, "large"), large);
    const address = await idk("put", "large", "--workers", "2");
    await idk("get", address.trim(), "--workers", "2", "-o", "copy");
    expect(await Bun.file(join(at, "copy")).text()).toBe(large);
    expect(await idk("--version")).toContain("NaCl native");

    // The command works without threads if they do not start, so start one here.
    await writeFile(
      join(installed, "threads.cjs"),
      `const filename = require.resolve("./dist/worker.cjs");
       const { Piscina } = require("piscina");
       const pool = new Piscina({ filename });
       pool.run("native", { name: "warmUp" }).then(() => { console.log("they run"); process.exit(0); });`,
    );
    const [name] = await readdir(join(installed, "node_modules/@oven"));
    const bun = join(installed, "node_modules/@oven", name!, "bin/bun");
    expect(await ok([bun, "threads.cjs"], installed, env)).toBe("they run\n");
  });

  test("writes the page that opens links", async () => {
    await idk("link", "--page", "page");
    await expectPage(join(at, "page"));
  });

  test("Node runs the script for Bun by the launcher too", async () => {
    const script = join(installed, "dist/main.cjs");
    expect(await ok([node!, script, "--version"], at, env)).toBe(await idk("--version"));
  });

  test("files of the current folder change nothing", async () => {
    const hostile = join(at, "hostile");
    await mkdir(hostile);
    await writeFile(join(hostile, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
    await writeFile(join(hostile, "preload.ts"), 'console.log("preloaded");\n');
    await writeFile(join(hostile, ".env"), "IDK_STORE=/nonexistent/elsewhere\n");
    await writeFile(join(hostile, "tsconfig.json"), '{"extends":"./elsewhere.json"}\n');
    const started = [["idk"], [node!, join(installed, "dist/main.cjs")]];
    for (const argv of started) {
      const { code, stdout, stderr } = await run([...argv, "config"], hostile, env);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).not.toMatch(/preloaded|elsewhere/u);
    }
  });

  test("signals and the exit code pass through", async () => {
    await idk("init", "--store", "./signals", "--no-passphrase", "--name", "signals");
    const child = Bun.spawn(["idk", "put", "-", "--store", "signals"], {
      cwd: at,
      env,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    // More than a pipe holds, so the command is reading when this is written.
    void child.stdin.write(new Uint8Array(2 ** 20));
    await child.stdin.flush();
    child.kill("SIGTERM");
    expect(await new Response(child.stderr).text()).toBe("idk: interrupted\n");
    expect(await child.exited).toBe(143);
    const { code } = await run(["idk", "--no-such-option"], at, env);
    expect(code).toBe(2);
  });

  test("a signal to the launcher alone passes through at a terminal, too", async () => {
    // The terminal itself sends nothing: nobody types Ctrl-C.
    const script = `
import os, pty, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
time.sleep(2)
os.kill(pid, signal.SIGINT)
for _ in range(200):
    time.sleep(0.1)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        sys.exit(os.waitstatus_to_exitcode(status))
os.kill(pid, signal.SIGTERM)
sys.exit(1)`;
    await idk("init", "--store", "./terminal", "--no-passphrase", "--name", "terminal");
    const argv = ["python3", "-c", script, "idk", "put", "-", "--store", "terminal"];
    expect((await run(argv, at, env)).code).toBe(130);
  });

  test("without its Bun it uses the one on the PATH, or says what to do", async () => {
    const runtimes = join(installed, "node_modules/@oven");
    await rename(runtimes, join(folder, "oven"));
    try {
      const reason = `Bun is not installed for ${process.platform} ${process.arch}`;
      const failed = await run(["idk", "--version"], folder, env);
      expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(`idk: ${reason}`) });
      const asJson = await run(["idk", "ls", "--json"], folder, env);
      expect(JSON.parse(asJson.stderr)).toEqual({
        error: { code: "usage", message: expect.stringContaining(reason) },
      });

      const bin = join(folder, "with-bun");
      await mkdir(bin);
      const shim = join(bin, "bun");
      await writeFile(shim, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
      await chmod(shim, 0o755);
      const withBun = { ...env, PATH: `${bin}:${env["PATH"]}` };
      expect(await ok(["idk", "--version"], folder, withBun)).toStartWith("idk ");
    } finally {
      await rename(join(folder, "oven"), runtimes);
    }
  });
});
