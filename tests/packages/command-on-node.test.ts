import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { emptyProject, ok, root, run } from "./projects.ts";
import { join } from "node:path";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

/*
 * The command installed with npm on a machine that has Node and no Bun.
 */

setDefaultTimeout(180_000);

const npm = Bun.which("npm");
const node = Bun.which("node");

skipIfMissing(npm === null || node === null ? ["npm"] : [])("the command on Node alone", () => {
  let folder: string;
  let tarball: string;
  let at: string;
  let env: Record<string, string | undefined>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-command-on-node-"));
    const packed = join(folder, "packed");
    const command = [process.execPath, "pm", "pack", "--destination", packed];
    await ok(command, join(root, "packages/cli"));
    tarball = join(packed, (await readdir(packed))[0]!);

    // Only what Node comes with; another folder of the PATH may have Bun.
    const bin = join(folder, "bin");
    await mkdir(bin);
    const npx = Bun.which("npx");
    for (const path of [node, npm, npx]) await symlink(path!, join(bin, path!.split("/").at(-1)!));
    env = {
      ...process.env,
      PATH: `${bin}:/usr/bin:/bin`,
      XDG_CONFIG_HOME: join(folder, "config"),
      XDG_DATA_HOME: join(folder, "data"),
    };
    expect(Bun.which("bun", { PATH: env["PATH"]! })).toBeNull();
    at = await emptyProject(folder, "project");
    await ok([npm!, "install", "--no-audit", "--no-fund", tarball], at, env);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const idk = (...args: string[]) => ok(["npx", "--no", "--", "idk", ...args], at, env);

  test("`npx idk` stores and fetches content, in threads too", async () => {
    await idk("init", "--store", "./safe", "--no-passphrase");
    await writeFile(join(at, "small"), "the minutes");
    expect(await idk("get", (await idk("put", "small")).trim())).toBe("the minutes");

    const large = crypto
      .getRandomValues(new Uint8Array(2 ** 16))
      .toHex()
      .repeat(2 ** 9);
    expect(large).toHaveLength(64 * 2 ** 20);
    await writeFile(join(at, "large"), large);
    const address = await idk("put", "large", "--workers", "2");
    await idk("get", address.trim(), "--workers", "2", "-o", "copy");
    expect(await Bun.file(join(at, "copy")).text()).toBe(large);
    expect(await idk("--version")).toContain("NaCl native");

    // The command works without threads if they do not start, so start one here.
    await writeFile(
      join(at, "threads.cjs"),
      `const filename = require.resolve("@idk/cli/package.json").replace("package.json", "dist/worker.cjs");
       const { Piscina } = require("piscina");
       const pool = new Piscina({ filename });
       pool.run("native", { name: "warmUp" }).then(() => { console.log("they run"); process.exit(0); });`,
    );
    const [name] = await readdir(join(at, "node_modules/@oven"));
    const bun = join(at, "node_modules/@oven", name!, "bin/bun");
    expect(await ok([bun, "threads.cjs"], at, env)).toBe("they run\n");
  });

  test("`npm install --global` puts idk on the PATH", async () => {
    const prefix = join(folder, "global");
    const flags = ["--global", "--prefix", prefix, "--no-audit", "--no-fund"];
    await ok([npm!, "install", ...flags, tarball], at, env);
    expect(await ok([join(prefix, "bin/idk"), "--version"], folder, env)).toStartWith("idk ");
  });

  test("files of the current folder change nothing", async () => {
    const hostile = join(at, "hostile");
    await mkdir(hostile);
    await writeFile(join(hostile, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
    await writeFile(join(hostile, "preload.ts"), 'console.log("preloaded");\n');
    await writeFile(join(hostile, ".env"), "IDK_STORE=/nonexistent/elsewhere\n");
    const config = await ok([join(at, "node_modules/.bin/idk"), "config"], hostile, env);
    expect(config).not.toMatch(/preloaded|elsewhere/u);
  });

  test("signals and the exit code pass through", async () => {
    await idk("init", "--store", "./signals", "--no-passphrase", "--name", "signals");
    const child = Bun.spawn([join(at, "node_modules/.bin/idk"), "put", "-", "--store", "signals"], {
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
    const { code } = await run([join(at, "node_modules/.bin/idk"), "--no-such-option"], at, env);
    expect(code).toBe(2);
  });

  test("without its Bun it uses the one on the PATH, or says what to do", async () => {
    const at = join(folder, "project");
    await rename(join(at, "node_modules/@oven"), join(folder, "oven"));
    const launcher = join(at, "node_modules/.bin/idk");
    try {
      const reason = `Bun is not installed for ${process.platform} ${process.arch}`;
      const failed = await run([launcher, "--version"], folder, env);
      expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(`idk: ${reason}`) });
      const asJson = await run([launcher, "ls", "--json"], folder, env);
      expect(JSON.parse(asJson.stderr)).toEqual({
        error: { code: "usage", message: expect.stringContaining(reason) },
      });

      const bin = join(folder, "with-bun");
      await mkdir(bin);
      const shim = join(bin, "bun");
      await writeFile(shim, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
      await chmod(shim, 0o755);
      const withBun = { ...env, PATH: `${bin}:${env["PATH"]}` };
      expect(await ok([launcher, "--version"], folder, withBun)).toStartWith("idk ");
    } finally {
      await rename(join(folder, "oven"), join(at, "node_modules/@oven"));
    }
  });
});
