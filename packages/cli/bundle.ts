/**
 * Builds the published command in `dist`: `main.cjs`, which prints the version and the overview,
 * `run.cjs` with all commands, `worker.cjs` for its threads, their bytecode, which saves parsing, the
 * licences of the bundled packages, a bill of materials, and `launcher.cjs`, with which Node starts all
 * that on Bun. Native packages, and those that only large files and object stores need, stay outside as
 * dependencies.
 *
 * Usage: bun packages/cli/bundle.ts [FOLDER]
 */
import { type BunPlugin, build, file, write } from "bun";
import { access, copyFile, mkdir, mkdtemp, readdir, rename, rm, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";
import { billOfMaterials } from "../../script/sbom.ts";

const root = join(import.meta.dir, "../..");
const folder = resolve(process.argv[2] ?? join(import.meta.dir, "dist"));

/** Not bundled: loaded from node_modules when needed. */
const EXTERNAL = [
  "@aws-sdk/*",
  "@idk/bench",
  "@smithy/*",
  "fast-xml-parser",
  "lz4-napi",
  "minio",
  "piscina",
];

/** A replacement in the source of a bundled module. */
interface Seam {
  readonly file: RegExp;
  readonly from: string;
  readonly to: string;
}

const SEAMS: readonly Seam[] = [
  {
    // A separate script, so that the version and the overview do not wait for it.
    file: /\/cli\/src\/main\.ts$/u,
    from: 'await import("./run.ts")',
    to: 'require("./run.cjs")',
  },
  {
    // In a bundle, import.meta.url is the path at build time.
    file: /\/workers\/pool\.ts$/u,
    from: String.raw`import.meta.url.replace(/\/pool\.([jt]s)$/u, "/worker.$1")`,
    to: 'require.resolve("./worker.cjs")',
  },
  {
    // sodium-native takes ten times as long to find its library as to load it. Do not resolve it from
    // the program's path, which in a thread is that of piscina.
    file: /\/sodium-native\/index\.js$/u,
    from: "require('./binding')",
    to: `(() => {
      const { dirname, join } = require("node:path");
      const folder = dirname(require.resolve("sodium-native/package.json"));
      const system = process.platform + "-" + process.arch;
      try {
        return require(join(folder, "prebuilds", system, "sodium-native.node"));
      } catch {
        return require(join(folder, "binding.js"));
      }
    })()`,
  },
  {
    // assert loads half of Node's modules.
    file: /\/sodium-native\/index\.js$/u,
    from: "require('assert')",
    to: "((holds, message) => { if (!holds) throw new Error(message); })",
  },
  {
    // Used for executable subcommands only, which idk does not have.
    file: /\/commander\/lib\/command\.js$/u,
    from: "import childProcess from 'node:child_process'",
    to: "const childProcess = undefined",
  },
  ...["command", "help"].map((name) => ({
    file: new RegExp(`/commander/lib/${name}\\.js$`, "u"),
    from: "import { stripVTControlCharacters } from 'node:util'",
    to: "const stripVTControlCharacters = Bun.stripANSI",
  })),
];

/** Module names that stay external, and their names in the bundle, resolved from the script. */
const OUTSIDE: Readonly<Record<string, string>> = {
  "./run.cjs": "./run.cjs",
  "./worker.cjs": "./worker.cjs",
  "sodium-native/package.json": "sodium-native/package.json",
  "#lz4-native": "lz4-napi",
  "#threads": "piscina",
};

const seams: BunPlugin = {
  name: "seams",
  setup(builder) {
    const files = new RegExp(SEAMS.map(({ file }) => file.source).join("|"), "u");
    builder.onLoad({ filter: files }, async ({ path, loader }) => {
      let contents = await file(path).text();
      for (const { from, to } of SEAMS.filter((seam) => seam.file.test(path))) {
        if (!contents.includes(from)) throw new Error(`${path} no longer contains ${from}`);
        contents = contents.replace(from, () => to);
      }
      return { contents, loader };
    });
    builder.onResolve({ filter: /./u }, ({ path }) => {
      const name = OUTSIDE[path];
      return name === undefined ? undefined : { path: name, external: true };
    });
  },
};

/**
 * Bun puts a script into a function, which Node would not call and so print nothing. This ends that
 * function, has Node run the launcher, and begins the function that Bun calls. Part of the build, so that
 * the bytecode fits.
 */
const ON_NODE = `});if(typeof Bun==="undefined")require("./launcher.cjs");
(function(exports, require, module, __filename, __dirname) {`;

const startedAt = new Date();
// Build in a temporary folder and move file by file, so that a command that is starting finds the old
// or the new script. Bytecode of another script is ignored.
await mkdir(folder, { recursive: true });
const building = await mkdtemp(join(folder, "build-"));
try {
  const { outputs, metafile } = await build({
    entrypoints: [
      join(import.meta.dir, "src/main.ts"),
      join(import.meta.dir, "src/run.ts"),
      join(root, "packages/storage/src/store/workers/worker.ts"),
    ],
    outdir: building,
    root,
    naming: "[name].cjs",
    target: "bun",
    format: "cjs",
    banner: ON_NODE,
    bytecode: true,
    // Keep identifiers, for readable stack traces.
    minify: { whitespace: true, syntax: true },
    metafile: true,
    external: EXTERNAL,
    plugins: [seams],
  });

  // Bun silently omits bytecode that it cannot generate.
  for (const name of ["main.cjs", "run.cjs", "worker.cjs"])
    await access(join(building, `${name}.jsc`));
  // Bun inlines the paths of modules that use them.
  for (const output of outputs) {
    if (!output.path.endsWith(".cjs")) continue;
    const script = await output.text();
    if ([`"${root}/`, `file://${root}/`].some((path) => script.includes(path))) {
      throw new Error(`${output.path} contains a path of this machine`);
    }
  }
  const bundled = packagesOf(Object.keys(metafile!.inputs));
  await write(join(building, "LICENSES.txt"), await licences(bundled));
  const materials = await billOfMaterials("cli", bundled);
  await write(join(building, "sbom.cdx.json"), `${JSON.stringify(materials, null, 2)}\n`);
  const launcher = join(import.meta.dir, "src/launcher.cjs");
  await copyFile(launcher, join(building, "launcher.cjs"));
  // The configuration with which the launcher starts Bun.
  await write(join(building, "empty"), "");
  // script/idk compares its date with the sources, including those changed during the build. Moved
  // last, when everything else is in place.
  await utimes(join(building, "main.cjs"), startedAt, startedAt);
  const names = (await readdir(building)).filter((name) => name !== "main.cjs");
  for (const name of [...names, "main.cjs"]) await rename(join(building, name), join(folder, name));
} finally {
  await rm(building, { recursive: true });
}

/** The folders of the packages that bundled files belong to, other than this one. */
function packagesOf(inputs: readonly string[]): string[] {
  const folder =
    /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)|^.*\/packages\/(?!cli\/)[^/]+(?=\/src\/)/u;
  // Relative to the current folder.
  const folders = inputs.flatMap((input) => folder.exec(resolve(input)) ?? []);
  return [...new Set(folders)].toSorted();
}

/** The licences of the bundled packages, which have to be distributed with them. */
async function licences(folders: readonly string[]): Promise<string> {
  const texts = folders.map(async (at) => {
    const { name, version, license } = await file(join(at, "package.json")).json();
    const found = (await readdir(at)).find((entry) => /^licen[cs]e/iu.test(entry));
    const text = found === undefined ? `Licence: ${license}` : await file(join(at, found)).text();
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
