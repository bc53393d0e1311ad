/**
 * Builds the published command in `dist`: `main.cjs`, which prints the version and the overview, the parts
 * of the command, of which `run.cjs` is always loaded (see PARTS), `snapshots.cjs` with the library of
 * snapshots and `gateway.cjs` with the S3 server, so that other commands do not load them, `worker.cjs`,
 * `pack-worker.cjs`, `file-worker.cjs`, `digest-worker.cjs` and `sqlite-worker.cjs` for threads,
 * `link-page.cjs` with the page that opens links, their bytecode, which saves parsing, the licences of the
 * bundled packages, a bill of materials, and `launcher.cjs`, with which Node starts all that on Bun. Native packages, and those that only large files and object stores need,
 * stay outside as dependencies.
 *
 * Usage: bun packages/cli/bundle.ts [FOLDER]
 */
import { type BunPlugin, build, write } from "bun";
import { access, copyFile, mkdir, mkdtemp, readdir, rename, rm, utimes } from "node:fs/promises";
import { type Seam, licences, packagesOf, seamsPlugin } from "./building.ts";
import { join, resolve } from "node:path";
import { type Part, buildParts } from "./parts.ts";
import { buildPage } from "@idk/link/build-page";
import { billOfMaterials } from "../../script/sbom.ts";

const root = join(import.meta.dir, "../..");
const folder = resolve(process.argv[2] ?? join(import.meta.dir, "dist"));

/** Not bundled: loaded from node_modules when needed. */
const EXTERNAL = ["@aws-sdk/*", "@idk/bench", "@smithy/*", "lz4-napi", "minio", "piscina"];

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
    file: /\/restore\/threads\/pool\.ts$/u,
    from: 'new URL("file-worker.ts", import.meta.url).href',
    to: 'require.resolve("./file-worker.cjs")',
  },
  {
    file: /\/packs\/threads\.ts$/u,
    from: 'new URL("pack-worker.ts", import.meta.url).href',
    to: 'require.resolve("./pack-worker.cjs")',
  },
  {
    file: /\/gateway\/src\/body\/threads\.ts$/u,
    from: 'new URL("digest-worker.ts", import.meta.url).href',
    to: 'require.resolve("./digest-worker.cjs")',
  },
  {
    file: /\/catalog\/database\/sqlite\.ts$/u,
    from: 'new URL("sqlite-worker.ts", import.meta.url).href',
    to: 'require.resolve("./sqlite-worker.cjs")',
  },
  {
    // Only one command needs it.
    file: /\/cli\/src\/link\/page-files\.ts$/u,
    to: 'export const pageFiles = async () => new Map(require("./link-page.cjs"));',
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
];

/** Entries of the storage library that the other libraries take from `run.cjs`. */
const SHARED = ["@idk/storage", "@idk/storage/blobs"] as const;

/**
 * All libraries have to use the same modules, because the secrets of keys are kept in one of them.
 * `run.cjs` gives its own to `snapshots.cjs` and `gateway.cjs`, when they are loaded.
 */
const givingSeam = (give: string): Seam => ({
  file: /\/cli\/src\/run\.ts$/u,
  from: "export async function run(",
  to: `export function shared(name) {
    switch (name) {
      ${SHARED.map((name) => `case "${name}": return require("${name}");`).join("\n")}
    }
  }
  ${give}
  export async function run(`,
});
const TAKING: BunPlugin = {
  name: "shared",
  setup(builder) {
    builder.onResolve({ filter: /^@idk\/storage(?:\/|$)/u }, ({ path }) => {
      if (SHARED.some((name) => name === path)) return { path, namespace: "shared" };
      throw new Error(`a library cannot take ${path} from run.cjs: add it to SHARED`);
    });
    builder.onLoad({ filter: /./u, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = require("./run.cjs").shared("${path}");`,
      loader: "js",
    }));
  },
};

/** The command itself. The first part has what is needed to put, get and stat, whatever is configured. */
const PARTS: readonly Part[] = [
  {
    name: "run",
    from: /^packages\/(?:cli\/src\/(?:commands\/(?:put|get|show)|config\/read-config|config\/toml|put\/.*|progress\/.*|keys\/(?:keychain|identity-command))|storage\/src\/(?:backend\/filesystem|crypto\/nacl\/.*))\.ts$/u,
  },
  {
    name: "object-stores",
    from: /^packages\/storage\/src\/backend\/(?!s3\/http\/parse-xml\.ts$)/u,
  },
  { name: "xml", from: /\/parse-xml\.ts$/u },
  { name: "snapshot-commands", from: /^packages\/cli\/src\/(?:commands\/)?snapshots\//u },
  { name: "commands", from: /./u },
];

/** Module names that stay external, and their names in the bundle, resolved from the script. */
const OUTSIDE: Readonly<Record<string, string>> = {
  "@idk/gateway": "./gateway.cjs",
  "@idk/snapshots": "./snapshots.cjs",
  "./digest-worker.cjs": "./digest-worker.cjs",
  "./file-worker.cjs": "./file-worker.cjs",
  "./link-page.cjs": "./link-page.cjs",
  "./pack-worker.cjs": "./pack-worker.cjs",
  "./sqlite-worker.cjs": "./sqlite-worker.cjs",
  "./worker.cjs": "./worker.cjs",
  ...Object.fromEntries(PARTS.map(({ name }) => [`./${name}.cjs`, `./${name}.cjs`])),
  "sodium-native/package.json": "sodium-native/package.json",
  "#lz4-native": "lz4-napi",
  "#threads": "piscina",
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
  const common = {
    outdir: building,
    root,
    target: "bun",
    format: "cjs",
    banner: ON_NODE,
    bytecode: true,
    // Keep identifiers, for readable stack traces.
    minify: { whitespace: true, syntax: true },
    metafile: true,
    external: EXTERNAL,
  } as const;
  const starters = await build({
    ...common,
    entrypoints: [
      join(import.meta.dir, "src/main.ts"),
      join(root, "packages/storage/src/store/workers/worker.ts"),
      join(root, "packages/snapshots/src/write/packs/pack-worker.ts"),
      join(root, "packages/snapshots/src/restore/threads/file-worker.ts"),
      join(root, "packages/gateway/src/body/digest-worker.ts"),
      join(root, "packages/gateway/src/catalog/database/sqlite-worker.ts"),
    ],
    naming: "[name].cjs",
    plugins: [seamsPlugin(SEAMS, OUTSIDE)],
  });
  const run = { ...common, entrypoints: [join(import.meta.dir, "src/run.ts")] as [string] };
  const parts = await buildParts(run, PARTS, root, (give) => [
    seamsPlugin([...SEAMS, givingSeam(give)], OUTSIDE),
  ]);
  const libraries = await Promise.all(
    ["snapshots", "gateway"].map(async (name) =>
      build({
        ...common,
        entrypoints: [join(root, `packages/${name}/src/index.ts`)],
        naming: `${name}.cjs`,
        plugins: [TAKING, seamsPlugin(SEAMS, OUTSIDE)],
      }),
    ),
  );
  const builds = [starters, ...parts, ...libraries];
  const outputs = builds.flatMap((built) => built.outputs);

  // Bun silently omits bytecode that it cannot generate.
  for (const output of outputs) {
    if (output.path.endsWith(".cjs")) await access(`${output.path}.jsc`);
  }
  // Bun inlines the paths of modules that use them.
  for (const output of outputs) {
    if (!output.path.endsWith(".cjs")) continue;
    const script = await output.text();
    if ([`"${root}/`, `file://${root}/`].some((path) => script.includes(path))) {
      throw new Error(`${output.path} contains a path of this machine`);
    }
  }
  const page = await buildPage();
  const pageScript = `module.exports = ${JSON.stringify([...page.files])};\n`;
  if (pageScript.includes(root)) throw new Error("the page contains a path of this machine");
  await write(join(building, "link-page.cjs"), pageScript);
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile!.inputs));
  const bundled = [...new Set([...packagesOf(inputs), ...page.packages])].toSorted();
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
