import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { tmpdir } from "node:os";

// script/idk may have to build the bundle first.
setDefaultTimeout(60_000);

const script = join(import.meta.dir, "../../script/idk");

test("script/idk ignores what Bun obeys in the current folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-untrusted folder-"));
  const home = join(folder, "home");
  const idk = (argv: readonly string[]) => {
    const env = { PATH: process.env["PATH"], HOME: home };
    return Bun.spawnSync([...argv, "config"], { cwd: folder, env }).stdout.toString();
  };
  const bun = [process.execPath, join(import.meta.dir, "../../packages/cli/src/main.ts")];
  try {
    await mkdir(home);
    await writeFile(join(folder, "untrusted.ts"), 'console.log("untrusted");\n');
    // In each case, Bun itself obeys the file.
    for (const [name, content] of [
      [".env", "IDK_STORE=untrusted\n"],
      ["bunfig.toml", 'preload = ["./untrusted.ts"]\n'],
      ["tsconfig.json", '{"compilerOptions": {"paths": {"*": ["./untrusted.ts"]}}}'],
    ] as const) {
      await writeFile(join(folder, name), content);
      expect(idk(bun)).toContain("untrusted");
      expect(idk([script])).toMatch(/^config +none .*\nstore +none /u);
      await rm(join(folder, name));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("script/idk started through relative links runs nothing of the current folder", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "idk-untrusted folder-")));
  try {
    const bin = join(folder, "bin");
    await mkdir(bin);
    const target = relative(bin, script);
    await symlink(target, join(bin, "linked"));
    await symlink("linked", join(bin, "idk"));
    // Where the links would lead from the current folder, and where CDPATH would.
    const away = join(folder, "away");
    const current = join(folder, target.replaceAll(/[^/]*[^/.][^/]*/gu, "").replaceAll("..", "x"));
    await mkdir(current, { recursive: true });
    for (const at of [join(current, target), join(away, "script/idk")]) {
      await mkdir(join(at, "../lib"), { recursive: true });
      await writeFile(join(at, "../lib/tools.sh"), "echo untrusted; exit\n");
    }
    const env = { PATH: process.env["PATH"], HOME: folder, CDPATH: away };
    for (const idk of [join(bin, "idk"), relative(current, join(bin, "idk"))]) {
      const { stdout, exitCode } = Bun.spawnSync([idk, "--version"], { cwd: current, env });
      expect([stdout.toString(), exitCode]).toEqual([expect.stringMatching(/^idk \d/u), 0]);
    }
    const here = Bun.spawnSync(["script/idk", "--version"], { cwd: join(script, "../.."), env });
    expect(here.stdout.toString()).toMatch(/^idk \d/u);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("script/idk rebuilds the bundle after a change of any package in it", async () => {
  const [, sources] = /^made_of=\((.*)\)$/mu.exec(await readFile(script, "utf8")) ?? [];
  const packages = join(script, "../../packages");
  const bundled = new Set<string>();
  const add = async (name: string): Promise<void> => {
    if (bundled.has(name)) return;
    bundled.add(name);
    const files = new Bun.Glob("**/*.ts").scan({
      cwd: join(packages, name, "src"),
      absolute: true,
    });
    for await (const file of files) {
      const imports = (await readFile(file, "utf8")).matchAll(
        /(?:from |import\()"@idk\/([a-z]+)/gu,
      );
      for (const [, next] of imports) if (next !== "bench") await add(next!);
    }
  };
  await add("cli");
  const { stdout } = Bun.spawnSync(["bash", "-c", `printf '%s\n' ${sources}`], {
    cwd: join(packages, ".."),
  });
  const watched = stdout.toString().split("\n");
  const repository = join(packages, "..");
  const builders = new Set<string>();
  const follow = async (path: string): Promise<void> => {
    if (builders.has(path)) return;
    builders.add(path);
    const text = await readFile(join(repository, path), "utf8");
    for (const { path: next } of new Bun.Transpiler({ loader: "ts" }).scanImports(text)) {
      const file = join(dirname(path), next);
      const isOwn = next.startsWith(".") && next.endsWith(".ts");
      if (isOwn && !watched.some((folder) => file.startsWith(`${folder}/`))) await follow(file);
    }
  };
  await follow("packages/cli/bundle.ts");
  expect(builders.size).toBeGreaterThan(3);
  expect(watched).toEqual(expect.arrayContaining([...builders]));
  expect(bundled.size).toBeGreaterThan(2);
  expect(watched).toEqual(
    expect.arrayContaining(
      [...bundled].flatMap((name) => [`packages/${name}/src`, `packages/${name}/package.json`]),
    ),
  );
});
