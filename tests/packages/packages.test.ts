import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { ensureBuilt } from "../built.ts";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { NPM_INSTALL, ok, root, ROUND_TRIP, roundTripProject, run } from "./projects.ts";
import { readSession } from "../documents.ts";
import { skipIfMissing } from "../servers/require-server.ts";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { tmpdir } from "node:os";

/*
 * The packages as published: packed, checked with publint and are-the-types-wrong, installed from the
 * tarball into an empty project, and used there.
 */

setDefaultTimeout(120_000);

const PACKAGES = ["storage", "recorder", "cli"] as const;
type Name = (typeof PACKAGES)[number];

/** Prints the error of each object store. Nothing listens at their address. */
const OBJECT_STORES = `
  import { s3 } from "@idk/storage/s3";
  import { minio } from "@idk/storage/minio";
  import { b2 } from "@idk/storage/b2";
  import { http } from "@idk/storage/http";
  import { initBucket } from "@idk/storage/provision";

  const endpoint = "https://127.0.0.1:1";
  const common = { endpoint, bucket: "bucket", region: "us-east-1" };
  const keys = { accessKeyId: "a", secretAccessKey: "b" };
  // The SDK calls it again when they expire.
  const s3Options = { ...common, credentials: async () => keys };
  const minioOptions = { ...common, accessKey: "a", secretKey: "b" };
  const b2Options = { ...common, keyId: "a", applicationKey: "b" };
  const head = (backend) => () => backend.head("0".repeat(64));
  const retry = { budgetMs: 0, minAttempts: 1 };
  const provision = (location) => () => initBucket(location, {}, { retry });
  const calls = {
    s3: head(s3(s3Options)),
    minio: head(minio(minioOptions)),
    b2: head(b2(b2Options)),
    http: head(http({ url: endpoint })),
    provisionS3: provision({ provider: "s3", ...s3Options }),
    provisionMinio: provision({ provider: "minio", ...minioOptions }),
  };
  const outcomes = {};
  for (const [name, call] of Object.entries(calls)) {
    outcomes[name] = await call().then(() => "ok", (error) => error.code + ": " + error.message);
  }
  console.log(JSON.stringify(outcomes));
  process.exit(0);
`;

let folder: string;
const tarballs = {} as Record<Name, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-packages-"));
  await ensureBuilt();
  for (const name of PACKAGES) {
    const into = join(folder, `packed-${name}`);
    await mkdir(into);
    await ok([process.execPath, "pm", "pack", "--destination", into], join(root, "packages", name));
    const [file] = await readdir(into);
    tarballs[name] = join(into, file!);
  }
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(PACKAGES)("the package %s", (name) => {
  test("passes publint", async () => {
    const tarball = await Bun.file(tarballs[name]).arrayBuffer();
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test("contains the necessary files and no others", async () => {
    const listed = await ok(["tar", "-tzf", tarballs[name]], folder);
    const files = listed.trim().split("\n");
    for (const file of ["README.md", "LICENSE", "package.json"]) {
      expect(files).toContain(`package/${file}`);
    }
    const unexpected = files.filter(
      (file) =>
        !/^package\/(?:(?:src|dist)\/.+|man\/idk\.1|README\.md|LICENSE|package\.json)$/u.test(file),
    );
    expect(unexpected).toEqual([]);
    expect(files.filter((file) => /\btest\/|\.env|\.key$|tsbuildinfo/u.test(file))).toEqual([]);
  });

  test("depends on registry versions only", async () => {
    const manifest = await ok(["tar", "-xzOf", tarballs[name], "package/package.json"], folder);
    expect(manifest).not.toMatch(/"(?:workspace|catalog|link|file):/u);
  });
});

const SCRIPTS = [
  "commands.cjs",
  "digest-worker.cjs",
  "file-worker.cjs",
  "gateway.cjs",
  "main.cjs",
  "object-stores.cjs",
  "pack-worker.cjs",
  "progress.cjs",
  "run.cjs",
  "snapshot-commands.cjs",
  "snapshots.cjs",
  "small-file-worker.cjs",
  "sqlite-worker.cjs",
  "worker.cjs",
  "xml.cjs",
];

test("the command contains its scripts and their bytecode", async () => {
  const listed = await ok(["tar", "-tzf", tarballs.cli], folder);
  expect(listed.match(/(?<=^package\/dist\/).+$/gmu)?.toSorted()).toEqual(
    [
      "LICENSES.txt",
      "sbom.cdx.json",
      "empty",
      "launcher.cjs",
      "link-page.cjs",
      ...SCRIPTS,
      ...SCRIPTS.map((name) => `${name}.jsc`),
    ].toSorted(),
  );
});

test("the command declares what its bundle loads and includes the licences of what it bundles", async () => {
  const at = (name: string) => ["tar", "-xzOf", tarballs.cli, `package/${name}`];
  const loaded = new Set<string>();
  for (const name of SCRIPTS) {
    const script = await ok(at(`dist/${name}`), folder);
    for (const [, specifier = ""] of script.matchAll(
      /\b(?:require(?:\.resolve)?|import)\("([^"]+)"\)/gu,
    )) {
      if (!isBuiltin(specifier) && !specifier.startsWith("./"))
        loaded.add(/^(?:@[^/]+\/)?[^/]+/u.exec(specifier)![0]);
    }
  }
  for (const name of ["lz4-napi", "minio", "piscina", "sodium-native"]) {
    expect(loaded).toContain(name);
  }
  const { dependencies, optionalDependencies } = JSON.parse(await ok(at("package.json"), folder));
  const declared = Object.keys({ ...dependencies, ...optionalDependencies });
  // Benchmarks run from a checkout only.
  expect([...loaded].filter((name) => name !== "@idk/bench" && !declared.includes(name))).toEqual(
    [],
  );

  const licences = await ok(at("dist/LICENSES.txt"), folder);
  for (const name of ["commander", "valibot", "@noble/hashes"]) {
    expect(licences).toMatch(new RegExp(`^${name} \\d`, "mu"));
  }
});

const ENTRY_POINTS = [
  ["storage", [".", "./b2", "./blobs", "./filesystem", "./format", "./http", "./memory", "./minio", "./provision", "./s3", "./testing", "./text", "./url"]], // prettier-ignore
  ["recorder", [".", "./read"]],
] as const;

test.each(ENTRY_POINTS)("types of %s resolve where ES modules do", async (name, entryPoints) => {
  const tarball = await readFile(tarballs[name]);
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
  if (!analysis.types) throw new Error("the package has no types");
  // ESM only: not for resolvers without `exports`. CommonJS has a test of its own below.
  const problems = analysis.problems.filter((problem) => {
    const kind = "resolutionKind" in problem ? problem.resolutionKind : undefined;
    return kind !== "node10" && kind !== "node16-cjs";
  });
  expect(problems).toEqual([]);
  expect(Object.keys(analysis.entrypoints).toSorted()).toEqual([...entryPoints]);
});

describe("installed from the tarballs", () => {
  const npm = Bun.which("npm");
  const node = Bun.which("node");

  skipIfMissing(npm === null || node === null ? ["npm"] : [])("with npm", () => {
    let at: string;
    const install = (...names: string[]) => ok([npm!, ...NPM_INSTALL, ...names], at);

    beforeAll(async () => {
      at = await roundTripProject(folder, "npm");
      await install(tarballs.storage);
    });

    test("the library works on Node", async () => {
      const output = await ok([node!, ROUND_TRIP, "native"], at);
      expect(output).toMatch(/^native: 5 known answers/u);
    });

    test("CommonJS written in TypeScript can use the library", async () => {
      await writeFile(join(at, "import.cts"), await readSession("docs/library.md", "cts"));
      await writeFile(join(at, "require.cts"), await readSession("docs/library.md", "cts require"));
      const tsc = (mode: string, file: string) => {
        const flags = ["--ignoreConfig", "--strict", "--target", "es2022", "--types", ""];
        const lib = ["--lib", "es2022,dom,dom.asynciterable,esnext.disposable"];
        const command = [join(root, "node_modules/.bin/tsc"), ...flags, ...lib, "--module", mode];
        return run([...command, "--moduleResolution", mode, file], at);
      };

      expect(await tsc("node16", "import.cts")).toMatchObject({ code: 0, stdout: "" });
      expect(await ok([node!, "import.cjs"], at)).toBe("hello\n");
      expect((await tsc("node16", "require.cts")).stdout).toContain("TS1479");

      expect(await tsc("nodenext", "require.cts")).toMatchObject({ code: 0, stdout: "" });
      // Node can require ES modules from these versions on.
      const version = await ok([node!, "--version"], at);
      if (Bun.semver.satisfies(version.trim(), "^20.19.0 || >=22.12.0")) {
        expect(await run([node!, "require.cjs"], at)).toMatchObject({
          stdout: "hello\n",
          stderr: "",
        });
        const { exports } = await Bun.file(join(root, "packages/storage/package.json")).json();
        const all = Object.keys(exports).map((path) => `require("@idk/storage${path.slice(1)}");`);
        await ok([node!, "--input-type=commonjs", "--eval", all.join("")], at);
      }
    });

    test("the library is small, and names the packages that object stores need", async () => {
      const lock = await Bun.file(join(at, "node_modules/.package-lock.json")).json();
      const installed = Object.keys(lock.packages).map((path) => path.replace("node_modules/", ""));
      expect(installed.filter((name) => /^(?:@aws-sdk|@smithy|minio)\b/u.test(name))).toEqual([]);
      expect(installed.length).toBeLessThanOrEqual(45);

      await writeFile(join(at, "object-stores.mjs"), OBJECT_STORES);
      const outcomes = async (runtime: string): Promise<unknown> =>
        JSON.parse(await ok([runtime, "object-stores.mjs"], at));
      const missing = (purpose: string, command: string) =>
        `usage: ${purpose} needs packages that @idk/storage does not install by itself: ${command}`;
      const sdk = "npm install @aws-sdk/client-s3 @smithy/core";
      const client = "npm install minio";
      for (const runtime of [node!, process.execPath]) {
        expect(await outcomes(runtime)).toEqual({
          s3: missing("an object store", sdk),
          minio: expect.stringMatching(/^unavailable: /u),
          b2: expect.stringMatching(/^unavailable: /u),
          http: expect.stringMatching(/^unavailable: /u),
          provisionS3: missing("an object store", sdk),
          provisionMinio: missing("provisioning on MinIO", client),
        });
      }

      const named = [sdk, client].flatMap((command) =>
        command.replace("npm install ", "").split(" "),
      );
      await install(...named);
      for (const runtime of [node!, process.execPath]) {
        // There is no server, but everything that connects to it is loaded.
        expect(await outcomes(runtime)).toEqual({
          s3: expect.stringMatching(/^unavailable: /u),
          minio: expect.stringMatching(/^unavailable: /u),
          b2: expect.stringMatching(/^unavailable: /u),
          http: expect.stringMatching(/^unavailable: /u),
          provisionS3: expect.stringMatching(/^unavailable: /u),
          provisionMinio: expect.stringMatching(/^unavailable: /u),
        });
      }
    });
  });

  test("the library and the command work on Bun", async () => {
    const at = await roundTripProject(folder, "bun");
    await writeFile(
      join(at, "package.json"),
      JSON.stringify({
        private: true,
        type: "module",
        dependencies: {
          "@idk/storage": `file:${tarballs.storage}`,
          "@idk/cli": `file:${tarballs.cli}`,
        },
        // The command depends on a version of the library that may not be published yet.
        overrides: { "@idk/storage": `file:${tarballs.storage}` },
      }),
    );
    await ok([process.execPath, "install"], at);
    const output = await ok([process.execPath, ROUND_TRIP, "portable", "brief"], at);
    expect(output).toMatch(/^portable: 5 known answers/u);

    const main = "node_modules/@idk/cli/dist/main.cjs";
    // The configuration of the user who runs the tests must not be read.
    const env = { ...process.env, HOME: at, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined };
    const idk = (...args: string[]) => ok([process.execPath, main, ...args], at, env);
    const recipient = (await idk("keygen", "-o", "me.key")).trim();
    await writeFile(join(at, "hello.txt"), "hello");
    const put = await idk("put", "hello.txt", "-r", recipient, "--store", "blobs");
    expect(await idk("get", put.trim(), "-i", "me.key", "--store", "blobs")).toBe("hello");
    expect(await idk("--version")).toContain("NaCl native");

    // The command works without threads if they do not start, so start one here. Put sodium-native where
    // only the command can resolve it, as npm does if another version is hoisted.
    const nested = join(at, "node_modules/@idk/cli/node_modules");
    await mkdir(nested, { recursive: true });
    await rename(join(at, "node_modules/sodium-native"), join(nested, "sodium-native"));
    await writeFile(
      join(at, "threads.ts"),
      `import { createRequire } from "node:module";
       const filename = require.resolve("@idk/cli/package.json").replace("package.json", "dist/worker.cjs");
       const { Piscina } = createRequire(filename)("piscina");
       const pool = new Piscina({ filename });
       await pool.run("native", { name: "warmUp" });
       console.log("they run");
       process.exit(0);`,
    );
    expect(await ok([process.execPath, "threads.ts"], at)).toBe("they run\n");
  });
});
