/**
 * Builds the scripts that the package and the executables contain: `main.cjs`, which prints the
 * version and the overview, the parts of the command, of which `run.cjs` is always loaded (see PARTS),
 * `snapshots.cjs` with the library of snapshots and `gateway.cjs` with the S3 server, so that other commands
 * do not load them, `worker.cjs`, `pack-worker.cjs`, `file-worker.cjs`, `small-file-worker.cjs`,
 * `digest-worker.cjs` and `sqlite-worker.cjs` for threads, and `link-page.cjs` with the page that opens links.
 */
import { type BunPlugin, build, write } from "bun";
import { type Part, buildParts } from "./parts.ts";
import { type Seam, packagesOf, seamsPlugin } from "./building.ts";
import { basename, join } from "node:path";
import { buildPage } from "@idk/link/build-page";

export const ROOT: string = join(import.meta.dir, "../..");

/** The script with the page that opens links. */
export const PAGE = "link-page.cjs";

const THREAD_SOURCES = [
  "packages/storage/src/store/workers/worker.ts",
  "packages/snapshots/src/write/packs/pack-worker.ts",
  "packages/snapshots/src/restore/threads/file-worker.ts",
  "packages/cli/src/get/small-files/small-file-worker.ts",
  "packages/gateway/src/body/digest-worker.ts",
  "packages/gateway/src/catalog/database/sqlite-worker.ts",
];

/** The names, without ending, of the scripts that run in threads. */
export const THREADS: readonly string[] = THREAD_SOURCES.map((path) => basename(path, ".ts"));

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
    file: /\/get\/small-files\/small-files\.ts$/u,
    from: 'new URL("small-file-worker.ts", import.meta.url).href',
    to: 'require.resolve("./small-file-worker.cjs")',
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
    to: `export const pageFiles = async () => new Map(require("./${PAGE}"));`,
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
    from: /^packages\/(?:cli\/src\/(?:commands\/(?:put|get|show)|config\/read-config|config\/toml|put\/.*|keys\/(?:keychain|identity-command))|storage\/src\/(?:backend\/filesystem|crypto\/nacl\/.*))\.ts$/u,
  },
  { name: "progress", from: /^packages\/cli\/src\/progress\/bar\.ts$/u },
  {
    name: "object-stores",
    from: /^packages\/storage\/src\/backend\/(?!s3\/http\/parse-xml\.ts$)/u,
  },
  { name: "xml", from: /\/parse-xml\.ts$/u },
  { name: "snapshot-commands", from: /^packages\/cli\/src\/(?:commands\/)?snapshots\//u },
  { name: "commands", from: /./u },
];

/** Module names that stay external, and their names in the scripts, resolved from the script. */
const OUTSIDE: Readonly<Record<string, string>> = {
  "@idk/gateway": "./gateway.cjs",
  "@idk/snapshots": "./snapshots.cjs",
  [`./${PAGE}`]: `./${PAGE}`,
  ...Object.fromEntries(
    [...THREADS, ...PARTS.map(({ name }) => name)].map((name) => [
      `./${name}.cjs`,
      `./${name}.cjs`,
    ]),
  ),
  "#lz4-native": "lz4-napi",
  "#threads": "piscina",
};

/** How the package and the executables differ. */
export interface Variant {
  readonly seams: readonly Seam[];
  /** Names of modules that stay external, or patterns of them with `*`. */
  readonly external: readonly string[];
  readonly bytecode: boolean;
  readonly banner?: string;
}

export interface Scripts {
  /** All but the page; `main.cjs` is the first. */
  readonly names: readonly string[];
  /** The folders of the packages whose code the scripts contain. */
  readonly packages: readonly string[];
}

/** @throws Error if a script contains a path of this machine */
export async function buildScripts(
  folder: string,
  { seams, external, ...variant }: Variant,
): Promise<Scripts> {
  const common = {
    outdir: folder,
    root: ROOT,
    target: "bun" as const,
    format: "cjs" as const,
    // Keep identifiers, for readable stack traces.
    minify: { whitespace: true, syntax: true },
    metafile: true as const,
    ...variant,
    external: [...external],
  } satisfies Partial<Bun.BuildConfig>;
  const all = [...SEAMS, ...seams];
  const starters = await build({
    ...common,
    entrypoints: ["packages/cli/src/main.ts", ...THREAD_SOURCES].map((path) => join(ROOT, path)),
    naming: "[name].cjs",
    plugins: [seamsPlugin(all, OUTSIDE)],
  });
  const run = { ...common, entrypoints: [join(ROOT, "packages/cli/src/run.ts")] as [string] };
  const parts = await buildParts(run, PARTS, ROOT, (give) => [
    seamsPlugin([...all, givingSeam(give)], OUTSIDE),
  ]);
  const libraries = await Promise.all(
    ["snapshots", "gateway"].map(async (name) =>
      build({
        ...common,
        entrypoints: [join(ROOT, `packages/${name}/src/index.ts`)],
        naming: `${name}.cjs`,
        plugins: [TAKING, seamsPlugin(all, OUTSIDE)],
      }),
    ),
  );
  const builds = [starters, ...parts, ...libraries];
  const page = await buildPage();
  const scripts = builds
    .flatMap(({ outputs }) => outputs)
    .filter(({ path }) => path.endsWith(".cjs"));
  const pageText = JSON.stringify([...page.files]);
  for (const script of scripts) {
    // Bun inlines the paths of modules that use them.
    const text = await script.text();
    for (const path of [`"${ROOT}/`, `file://${ROOT}/`]) {
      const at = text.indexOf(path);
      if (at < 0) continue;
      const around = text.slice(Math.max(0, at - 80), at + 160);
      throw new Error(`${basename(script.path)} contains a path of this machine: ${around}`);
    }
  }
  if (pageText.includes(ROOT)) throw new Error("the page contains a path of this machine");
  // In Base64, because the page contains calls that look like those of the scripts.
  const encoded = Buffer.from(pageText).toString("base64");
  await write(
    join(folder, PAGE),
    `module.exports = JSON.parse(Buffer.from("${encoded}", "base64").toString());\n`,
  );
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile!.inputs));
  return {
    names: scripts.map(({ path }) => basename(path)),
    packages: [...new Set([...packagesOf(inputs), ...page.packages])].toSorted(),
  };
}
