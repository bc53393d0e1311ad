/**
 * Makes what is published of the command, in `dist`: `main.cjs`, which has the version and the
 * overview, `run.cjs` with all commands, `worker.cjs` for its threads, beside each its bytecode,
 * which spares the runtime parsing it, and the licences of what is inside. What only large files and
 * object stores need, and what is compiled for each platform, stays outside, as dependencies.
 *
 * Usage: bun packages/cli/bundle.ts [FOLDER]
 */
import { type BunPlugin, build, file, write } from "bun";
import { access, mkdir, mkdtemp, readdir, rename, rm, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";

const root = join(import.meta.dir, "../..");
const folder = resolve(process.argv[2] ?? join(import.meta.dir, "dist"));

/** What is loaded from where it is installed, when it is needed. */
const EXTERNAL = [
  "@aws-sdk/*",
  "@idk/bench",
  "@smithy/*",
  "fast-xml-parser",
  "lz4-napi",
  "minio",
  "piscina",
];

/** What is written otherwise in the bundle than in the sources and in packages. */
interface Seam {
  readonly file: RegExp;
  readonly from: string;
  readonly to: string;
}

const SEAMS: readonly Seam[] = [
  {
    // A script of its own, so that the version and the overview do not wait for it.
    file: /\/cli\/src\/main\.ts$/u,
    from: 'await import("./run.ts")',
    to: 'require("./run.cjs")',
  },
  {
    // A bundle knows where it was made, not where it lies.
    file: /\/workers\/pool\.ts$/u,
    from: String.raw`import.meta.url.replace(/\/pool\.([jt]s)$/u, "/worker.$1")`,
    to: 'require.resolve("./worker.cjs")',
  },
  {
    // To find its library takes sodium-native ten times as long as to load it. Not by the program's
    // own path, which in a thread is that of piscina.
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
    // What else is in that module brings half of Node's along.
    file: /\/sodium-native\/index\.js$/u,
    from: "require('assert')",
    to: "((holds, message) => { if (!holds) throw new Error(message); })",
  },
  {
    // For programs that commands could be, and none is.
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

/** Names that stay in the scripts, and what they are there: each is looked for beside its script. */
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
        if (!contents.includes(from)) throw new Error(`there is no ${from} in ${path} any more`);
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

const began = new Date();
// Made elsewhere and moved here file by file, so that a command that is starting finds one or the
// other; bytecode of other sources is not taken.
await mkdir(folder, { recursive: true });
const making = await mkdtemp(join(folder, "making-"));
try {
  const { outputs, metafile } = await build({
    entrypoints: [
      join(import.meta.dir, "src/main.ts"),
      join(import.meta.dir, "src/run.ts"),
      join(root, "packages/storage/src/store/workers/worker.ts"),
    ],
    outdir: making,
    root,
    naming: "[name].cjs",
    target: "bun",
    format: "cjs",
    bytecode: true,
    // Names stay as they are: stacks are read by people.
    minify: { whitespace: true, syntax: true },
    metafile: true,
    external: EXTERNAL,
    plugins: [seams],
  });

  // Bun leaves bytecode out that it cannot make, without a word.
  for (const name of ["main.cjs", "run.cjs", "worker.cjs"])
    await access(join(making, `${name}.jsc`));
  // And it writes the path of a module where the module asks for it.
  for (const output of outputs) {
    if (!output.path.endsWith(".cjs")) continue;
    const script = await output.text();
    if ([`"${root}/`, `file://${root}/`].some((path) => script.includes(path))) {
      throw new Error(`${output.path} names a folder of this machine`);
    }
  }
  await write(join(making, "LICENSES.txt"), await licences(Object.keys(metafile!.inputs)));
  // Its date tells whether a source is newer, also one that changed meanwhile; so it comes last.
  await utimes(join(making, "main.cjs"), began, began);
  const names = (await readdir(making)).filter((name) => name !== "main.cjs");
  for (const name of [...names, "main.cjs"]) await rename(join(making, name), join(folder, name));
} finally {
  await rm(making, { recursive: true });
}

/** The licences of the packages that are in the bundle, which ask to be where it is. */
async function licences(inputs: readonly string[]): Promise<string> {
  const packages = inputs.flatMap(
    (input) => /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/u.exec(input) ?? [],
  );
  const texts = [...new Set(packages)].toSorted().map(async (path) => {
    const at = resolve(path);
    const { name, version, license } = await file(join(at, "package.json")).json();
    const found = (await readdir(at)).find((entry) => /^licen[cs]e/iu.test(entry));
    const text = found === undefined ? `Licence: ${license}` : await file(join(at, found)).text();
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
