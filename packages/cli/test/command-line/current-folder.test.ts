import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { skipIfMissing } from "../../../../tests/servers/require-server.ts";
import { RUNTIME_FLAGS } from "../../src/bench.ts";
import manifest from "../../../../package.json" with { type: "json" };
import { createWorkspace, isolated, MAIN, newFolder, noise, sameBytes } from "../support/cli.ts";

setDefaultTimeout(120_000);

const { env, path, recipient, write } = await createWorkspace();
const ROOT = join(import.meta.dir, "../../../..");

/** Where npm links the command: a folder on the PATH. */
mkdirSync(path("bin"));
symlinkSync(MAIN, path("bin/idk"));
const PATH = `${path("bin")}:${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;

/** What the planted files do if something obeys them. */
const evidence = path("evidence");
const code = (who: string) =>
  `require("node:fs").appendFileSync(${JSON.stringify(evidence)}, ${JSON.stringify(`${who}\n`)});\n`;
beforeEach(() => rmSync(evidence, { force: true }));
const config = write("planted.toml", '[store.planted]\nurl = "planted"\n');

/** A folder with everything that Bun or Node read in the current folder. */
function plantedFolder(): string {
  const folder = newFolder();
  const plant = (name: string, content: string) => {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  plant("bunfig.toml", 'preload = ["./preload.cjs"]\n[install]\nauto = "force"\n');
  plant("preload.cjs", code("preload"));
  plant("module.cjs", code("a path of tsconfig.json"));
  const variables = `IDK_CONFIG=${config}\nIDK_STORE=${folder}/planted\nPLANTED=1\nNODE_PATH=${folder}/node_modules\n`;
  for (const name of [".env", ".env.local", ".env.development", ".env.production"])
    plant(name, variables);
  const paths = { "*": ["./module.cjs"], piscina: ["./module.cjs"], "node:fs": ["./module.cjs"] };
  for (const name of ["tsconfig.json", "jsconfig.json"])
    plant(name, JSON.stringify({ compilerOptions: { baseUrl: ".", paths } }));
  const imports = { "#threads": "./module.cjs", "#lz4-native": "./module.cjs" };
  plant("package.json", JSON.stringify({ name: "planted", type: "module", imports }));
  for (const name of ["piscina", "sodium-native", "lz4-napi", "minio", "@idk/bench", "bun"]) {
    plant(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "main.cjs" }));
    plant(`node_modules/${name}/main.cjs`, code(`node_modules/${name}`));
  }
  return folder;
}

interface Outcome {
  readonly code: number;
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly stderr: string;
}

async function run(
  argv: readonly string[],
  cwd: string,
  more: { readonly env?: Record<string, string>; readonly stdin?: Uint8Array<ArrayBuffer> } = {},
): Promise<Outcome> {
  const child = Bun.spawn([...argv], {
    cwd,
    env: { ...isolated(more.env), PATH },
    stdin: more.stdin === undefined ? "ignore" : new Blob([more.stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code: exitCode, stdout, stderr };
}

const textOf = ({ stdout }: Outcome) => new TextDecoder().decode(stdout);
const obeyed = () => (existsSync(evidence) ? readFileSync(evidence, "utf8") : "");

/** As `bun run idk` starts it, in the folder of the project. */
const ofProject = manifest.scripts.idk.replaceAll("packages/", `${ROOT}/packages/`).split(" ");

describe.each<[way: string, argv: readonly string[]]>([
  ["the link that npm makes", ["idk"]],
  ["the path of the script", [MAIN]],
  ["bun run idk", ofProject],
])("the command, started by %s", (_, argv) => {
  const planted = plantedFolder();
  mkdirSync(join(planted, "below"));

  test.each([
    ["in it", planted],
    ["above it", join(planted, "below")],
  ])("does not obey the files of the current folder or %s", async (_, cwd) => {
    const version = await run([...argv, "--version"], cwd);
    expect(obeyed()).toBe("");
    expect({ ...version, stdout: textOf(version) }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^idk \d[^\n]*\n$/u),
      stderr: "",
    });
    const shown = textOf(await run([...argv, "config", "--json"], cwd));
    expect(shown).toStartWith("{");
    expect(shown).not.toContain("planted");
    expect(obeyed()).toBe("");
  });
});

describe("in a folder with planted files", () => {
  const planted = plantedFolder();

  test("threads do not obey them", async () => {
    const store = path("blobs");
    const given = { ...env, IDK_STORE: store, IDK_IDENTITY: path("me.key") };
    const content = noise(40 * 2 ** 20);
    const put = await run(["idk", "put", "-", "--workers", "2"], planted, {
      env: given,
      stdin: content,
    });
    expect(put).toMatchObject({ code: 0, stderr: "" });
    const get = ["idk", "get", textOf(put).trim(), "--workers", "2"];
    const got = await run(get, planted, { env: given });
    expect(got).toMatchObject({ code: 0, stderr: "" });
    expect(sameBytes(got.stdout, content)).toBe(true);
    expect(obeyed()).toBe("");
  });

  test("the identity command gets no variables from them", async () => {
    const script = `env > ${path("variables")}; cat ${path("me.key")}`;
    write("identity.sh", script);
    const given = { IDK_IDENTITY_COMMAND: `sh ${path("identity.sh")}`, IDK_STORE: path("blobs") };
    const { code, stdout } = await run(["idk", "recipient"], planted, { env: given });
    expect([code, new TextDecoder().decode(stdout).trim()]).toEqual([0, recipient]);
    expect(readFileSync(path("variables"), "utf8")).toContain("IDK_IDENTITY_COMMAND=");
    expect(readFileSync(path("variables"), "utf8")).not.toMatch(/PLANTED|NODE_PATH|planted/u);
  });

  test("the benchmarks do not obey them", async () => {
    const { code, stdout, stderr } = await run(["idk", "bench", "--list"], planted);
    expect([code, stderr]).toEqual([0, ""]);
    expect(new TextDecoder().decode(stdout)).toContain("hash-perf");
    expect(obeyed()).toBe("");
  });

  skipIfMissing(Bun.which("bash") ? [] : ["bash"])("with bash", () => {
    test("completions do not obey them", async () => {
      const script =
        'source <(idk completion bash); COMP_LINE="idk ls --store pl" COMP_WORDS=(idk ls --store pl)' +
        " COMP_CWORD=3; _idk; printf '%s ' \"${COMPREPLY[@]}\"; COMP_LINE='idk pu' COMP_WORDS=(idk pu)" +
        " COMP_CWORD=1; _idk; printf '%s ' \"${COMPREPLY[@]}\"";
      const completed = await run(["bash", "-c", script], planted);
      expect(textOf(completed).trim()).toBe("put");
      expect(obeyed()).toBe("");
    });
  });
});

test("a missing package is not taken from the current folder", async () => {
  const planted = plantedFolder();
  const alone = join(newFolder(), "main.cjs");
  writeFileSync(
    alone,
    `${shebangOf(MAIN)}\ntry { require("piscina"); } catch { console.log("missing"); }\n`,
    { mode: 0o755 },
  );
  expect(textOf(await run([alone], planted))).toBe("missing\n");
  expect(obeyed()).toBe("");
});

test("processes of the benchmarks are started in the same way", () => {
  const shebang = `#!/usr/bin/env -S bun ${RUNTIME_FLAGS.join(" ")}`;
  expect(shebangOf(MAIN)).toBe(shebang);
  expect(manifest.scripts.idk).toBe(`bun ${RUNTIME_FLAGS.join(" ")} packages/cli/src/main.ts`);
  expect(readFileSync(join(ROOT, "script/idk"), "utf8")).toContain(
    `exec bun ${RUNTIME_FLAGS.join(" ")} "$bundle" "$@"`,
  );
  for (const [file, start] of [
    ["script/nightly-benchmarks", 'script/idk bench "$@"'],
    ["tests/benchmarks/bench.ts", "[process.execPath, ...RUNTIME_FLAGS, "],
  ] as const) {
    expect(readFileSync(join(ROOT, file), "utf8")).toContain(start);
  }
});

function shebangOf(script: string): string {
  return readFileSync(script, "utf8").split("\n", 1)[0]!;
}
