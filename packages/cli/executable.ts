/**
 * Compiles the command, its dependencies, its native libraries and a Bun into one executable file, which
 * needs nothing installed. No file of the current folder changes what it does: it reads no `.env`,
 * `bunfig.toml`, `tsconfig.json` or `package.json`, and loads no module from outside of itself.
 */
import { build, file } from "bun";
import { buildPage } from "@idk/link/build-page";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { type Seam, packagesOf, seamsPlugin } from "./building.ts";

/** Appear as calls in the text of an error of the AWS SDK. */
const IN_MESSAGES = /^@aws-sdk\/signature-v4(?:a|-crt)$/u;

const root = join(import.meta.dir, "../..");

export interface ExecutableOptions {
  /** Such as `linux-x64-musl`, as `idk doctor` knows it. */
  readonly platform: string;
  /** Bun's name of the platform. */
  readonly target: Bun.Build.CompileTarget;
  /** Bun's executable for the platform. */
  readonly bun: string;
  /** The path of libsodium for the platform; undefined if there is none. NaCl is then in JavaScript. */
  readonly sodium: string | undefined;
  /** The path of LZ4 for the platform. */
  readonly lz4: string;
  readonly outfile: string;
}

/** @returns the folders of the packages whose code the executable contains */
export async function compileExecutable(options: ExecutableOptions): Promise<string[]> {
  const { platform, target, bun, sodium, lz4, outfile } = options;
  const page = await buildPage();
  const pageText = Buffer.from(JSON.stringify([...page.files])).toString("base64");
  const quoted = (path: string) => JSON.stringify(path);
  const seams: readonly Seam[] = [
    {
      file: /\/cli\/src\/version\.ts$/u,
      from: "EXECUTABLE_FOR = undefined as string | undefined",
      to: `EXECUTABLE_FOR = ${quoted(platform)}`,
    },
    {
      file: /\/cli\/src\/version\.ts$/u,
      from: `Bun.resolveSync("sodium-native", dirname(Bun.main));\n    return "native"`,
      to: `return ${quoted(sodium === undefined ? "portable" : "native")}`,
    },
    {
      // Its packages are not in the executable, and those of the current folder must not be run.
      file: /\/cli\/src\/bench\.ts$/u,
      from: 'Bun.resolveSync("@idk/bench/main", dirname(Bun.main))',
      to: '{ throw new Error("not in the executable") }',
    },
    {
      // In Base64, because below all calls in the executable are checked.
      file: /\/cli\/src\/link\/page-files\.ts$/u,
      to: `export const pageFiles = async () =>
        new Map(JSON.parse(Buffer.from("${pageText}", "base64").toString()));`,
    },
    {
      // The thread below contains the jobs, and chooses by this name.
      file: /\/workers\/pool\.ts$/u,
      from: String.raw`import.meta.url.replace(/\/pool\.([jt]s)$/u, "/worker.$1")`,
      to: '"worker"',
    },
    {
      file: /\/restore\/threads\/pool\.ts$/u,
      from: 'new URL("file-worker.ts", import.meta.url).href',
      to: '"file-worker"',
    },
    {
      file: /\/packs\/threads\.ts$/u,
      from: 'new URL("pack-worker.ts", import.meta.url).href',
      to: '"pack-worker"',
    },
    {
      file: /\/gateway\/src\/body\/threads\.ts$/u,
      from: 'new URL("digest-worker.ts", import.meta.url).href',
      to: '"digest-worker"',
    },
    {
      file: /\/catalog\/database\/sqlite\.ts$/u,
      from: 'new URL("sqlite-worker.ts", import.meta.url).href',
      to: '"sqlite-worker"',
    },
    {
      file: /\/piscina\/dist\/index\.js$/u,
      from: "(0, node_path_1.resolve)(__dirname, 'worker.js')",
      to: '(0, node_path_1.join)((0, node_path_1.dirname)(Bun.main), "worker.js")',
    },
    {
      file: /\/piscina\/dist\/worker\.js$/u,
      from: "Promise.resolve(`${filename}`).then(s => __importStar(require(s)))",
      to: `Promise.resolve(filename.endsWith("pack-worker")
        ? require(${quoted(join(root, "packages/snapshots/src/write/packs/pack-worker.ts"))})
        : filename.endsWith("digest-worker")
        ? require(${quoted(join(root, "packages/gateway/src/body/digest-worker.ts"))})
        : filename.endsWith("sqlite-worker")
        ? require(${quoted(join(root, "packages/gateway/src/catalog/database/sqlite-worker.ts"))})
        : filename.endsWith("file-worker")
        ? require(${quoted(join(root, "packages/snapshots/src/restore/threads/file-worker.ts"))})
        : require(${quoted(join(root, "packages/storage/src/store/workers/worker.ts"))}))`,
    },
    {
      // What it imports if the job has no function of that name.
      file: /\/piscina\/dist\/worker\.js$/u,
      from: "new Function('specifier', 'return import(specifier)')",
      to: "() => Promise.resolve({})",
    },
    {
      // Sets the priority of threads, which idk does not.
      file: /\/piscina\/dist\/worker\.js$/u,
      from: "require('@napi-rs/nice')",
      to: "undefined",
    },
    {
      // Bun embeds the libraries that are required by a constant path.
      file: /\/sodium-native\/index\.js$/u,
      from: "require('./binding')",
      to:
        sodium === undefined
          ? '(() => { throw new Error("there is no libsodium for this platform") })()'
          : `require(${quoted(sodium)})`,
    },
    {
      file: /\/lz4-napi\/index\.js$/u,
      to: `module.exports = require(${quoted(lz4)})`,
    },
  ];
  const piscina = join(import.meta.dir, "node_modules/piscina/dist/worker.js");
  const { metafile } = await build({
    entrypoints: [join(import.meta.dir, "src/main.ts"), piscina],
    naming: "[name].[ext]",
    target: "bun",
    format: "cjs",
    // Saves parsing. It is the same for all platforms.
    bytecode: true,
    // Keep identifiers, for readable stack traces.
    minify: { whitespace: true, syntax: true },
    metafile: true,
    plugins: [seamsPlugin(seams)],
    compile: {
      target,
      executablePath: bun,
      outfile,
      autoloadBunfig: false,
      autoloadDotenv: false,
      autoloadPackageJson: false,
      autoloadTsconfig: false,
    },
  });
  await checkSelfContained(outfile);
  return [...new Set([...packagesOf(Object.keys(metafile!.inputs)), ...page.packages])].toSorted();
}

/**
 * Bun looks for modules that are not in the executable in the current folder, so none may be left.
 *
 * @throws Error with the names of such modules
 */
async function checkSelfContained(path: string): Promise<void> {
  const bytes = Buffer.from(await file(path).arrayBuffer());
  // Bun's own modules come first.
  const scripts = bytes.subarray(
    bytes.indexOf("// @bun", bytes.lastIndexOf("#!/usr/bin/env -S bun")),
  );
  const text = scripts.toString("latin1");
  const names = [...text.matchAll(/\b(?:require|import)\(["'`]([^"'`]+)["'`]\)/gu)].map(
    ([, name = ""]) => name,
  );
  const outside = names.filter(
    (name) =>
      !isBuiltin(name) &&
      !IN_MESSAGES.test(name) &&
      !/^(?:bun:|\/\$bunfs\/|B:\/~BUN\/)/u.test(name),
  );
  // Names that are computed.
  const computed = text.match(/(?<![\w.$])(?:require|import)\([\w$`]|return import\(/gu) ?? [];
  if (names.length === 0 || outside.length > 0 || computed.length > 0) {
    throw new Error(
      `${path} loads modules from outside: ${[...new Set([...outside, ...computed])].join(", ")}`,
    );
  }
}
