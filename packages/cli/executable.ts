/**
 * Compiles the command, its dependencies, its native libraries and a Bun into one executable file, which
 * needs nothing installed. No file of the current folder changes what it does: it reads no `.env`,
 * `bunfig.toml`, `tsconfig.json` or `package.json`, and loads no module from outside of itself.
 */
import { type BunPlugin, build, file, write } from "bun";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isBuiltin } from "node:module";
import { type Seam, packagesOf, seamsPlugin } from "./building.ts";
import { PAGE, ROOT, THREADS, buildScripts } from "./scripts.ts";

/** Appear as calls in the text of an error of the AWS SDK. */
const IN_MESSAGES = /^@aws-sdk\/signature-v4(?:a|-crt)$/u;

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

/** What each thread starts with. By its path, because piscina exports its main module only. */
const THREAD = "./node_modules/piscina/dist/worker.js";

/**
 * Scripts of packages that few commands need, with all modules that are imported from them. Piscina has
 * state, and so has the AWS SDK: what a command loads of them has to be in one script.
 */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "thread-pool": ["piscina", THREAD],
  lz4: ["lz4-napi"],
  checksums: ["@aws-sdk/checksums/crc", "@aws-sdk/checksums/xxh"],
  "object-store-clients": [
    "@aws-sdk/client-s3",
    "@smithy/core/config",
    "@smithy/core/endpoints",
    "@smithy/core/protocols",
    "minio",
  ],
};

/** With which Bun begins each script that has bytecode. */
const FIRST_LINE = "// @bun @bytecode @bun-cjs\n";

/** The packages whose code is in those scripts alone. */
const OWN_SCRIPT = /\/node_modules\/(?:piscina|lz4-napi|minio|@aws-sdk\/[^/]+|@smithy\/[^/]+)$/u;

/** The name by which scripts require libsodium before they are in the executable. */
const LIBSODIUM = "libsodium.node";

/** @returns the folders of the packages whose code the executable contains */
export async function compileExecutable(options: ExecutableOptions): Promise<string[]> {
  const { platform, target, bun, sodium, lz4, outfile } = options;
  // As the bundler names them, even if the folder above is a symbolic link.
  const scripts = await realpath(await mkdtemp(join(dirname(outfile), "scripts-")));
  try {
    const { names, packages } = await buildScripts(scripts, {
      seams: seamsOf(platform, sodium),
      external: [...Object.values(PACKAGES).flat(), LIBSODIUM],
      bytecode: false,
    });
    const stray = packages.filter((path) => OWN_SCRIPT.test(path));
    if (stray.length > 0) {
      throw new Error(
        `scripts of the command contain ${stray.join(", ")}: add the names by which they import ` +
          "from there to PACKAGES in packages/cli/executable.ts",
      );
    }
    for (const name of names) await unwrap(join(scripts, name));
    for (const [name, modules] of Object.entries(PACKAGES)) {
      const cases = modules.map((module) => {
        const path = quoted(Bun.resolveSync(module, import.meta.dir));
        return `case ${quoted(module)}: return require(${path});`;
      });
      const script = `module.exports = (name) => { switch (name) { ${cases.join(" ")} } };`;
      await write(join(scripts, `${name}.cjs`), script);
    }
    const start = `require("./thread-pool.cjs")(${quoted(THREAD)});`;
    await write(join(scripts, "thread.cjs"), start);
    const all = [
      ...names,
      PAGE,
      "thread.cjs",
      ...Object.keys(PACKAGES).map((name) => `${name}.cjs`),
    ];
    // Absolute, because Bun looks for a relative name that is missing in the current folder.
    const inside = target.startsWith("bun-windows-") ? "B:/~BUN/root/" : "/$bunfs/root/";
    const { metafile } = await build({
      entrypoints: all.map((name) => join(scripts, name)),
      naming: "[name].cjs",
      target: "bun",
      format: "cjs",
      // Saves parsing. It is the same for all platforms.
      bytecode: true,
      // Keep identifiers, for readable stack traces.
      minify: { whitespace: true, syntax: true },
      metafile: true,
      plugins: [
        takingPlugin(scripts, sodium),
        seamsPlugin(
          packageSeams(lz4),
          Object.fromEntries(all.map((name) => [`./${name}`, inside + name])),
        ),
      ],
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
    await checkSelfContained(outfile, all, inside, scripts);
    return [...new Set([...packages, ...packagesOf(Object.keys(metafile!.inputs))])].toSorted();
  } finally {
    await rm(scripts, { recursive: true });
  }
}

/** Replacements in the command. */
function seamsOf(platform: string, sodium: string | undefined): readonly Seam[] {
  return [
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
      file: /\/sodium-native\/index\.js$/u,
      from: "require('./binding')",
      to:
        sodium === undefined
          ? '(() => { throw new Error("there is no libsodium for this platform") })()'
          : `require(${quoted(LIBSODIUM)})`,
    },
  ];
}

/** Replacements in the packages that have scripts of their own. */
function packageSeams(lz4: string): readonly Seam[] {
  const jobs = THREADS.map((name) => `"${name}.cjs": () => require("./${name}.cjs")`);
  return [
    {
      file: /\/piscina\/dist\/index\.js$/u,
      from: "(0, node_path_1.resolve)(__dirname, 'worker.js')",
      to: 'require.resolve("./thread.cjs")',
    },
    {
      file: /\/piscina\/dist\/worker\.js$/u,
      from: "Promise.resolve(`${filename}`).then(s => __importStar(require(s)))",
      to: String.raw`Promise.resolve({ ${jobs.join(", ")} }[filename.split(/[\\/]/u).at(-1)]())`,
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
      file: /\/lz4-napi\/index\.js$/u,
      to: `module.exports = require(${quoted(lz4)})`,
    },
  ];
}

/** Replaces what the scripts in a folder import from packages by calls of the script that contains it. */
function takingPlugin(folder: string, sodium: string | undefined): BunPlugin {
  const scriptOf = new Map(
    Object.entries(PACKAGES).flatMap(([script, modules]) =>
      modules.map((name): [string, string] => [name, script]),
    ),
  );
  return {
    name: "packages",
    setup(builder) {
      builder.onResolve({ filter: /^[^./]/u }, ({ path, importer }) => {
        // Packages themselves contain what they import.
        if (dirname(importer) !== folder) return undefined;
        // Bun embeds the libraries that are required by a constant path.
        if (path === LIBSODIUM) return { path: sodium! };
        return scriptOf.has(path) ? { path, namespace: "package" } : undefined;
      });
      builder.onLoad({ filter: /./u, namespace: "package" }, ({ path }) => ({
        contents: `module.exports = require("./${scriptOf.get(path)}.cjs")(${quoted(path)});`,
        loader: "js",
      }));
    },
  };
}

/**
 * Removes the function that Bun wraps a script in, which nothing would call once the script is bundled
 * again. Keeps the first line of `main.cjs`, which `checkSelfContained` looks for.
 *
 * @throws Error if there is none
 */
async function unwrap(path: string): Promise<void> {
  const [start, end] = ["(function(exports, require, module, __filename, __dirname) {", "})\n"];
  const text = await file(path).text();
  const at = text.indexOf(start);
  if (at < 0 || !text.endsWith(end)) throw new Error(`${path} is not a script that Bun made`);
  const shebang = /^#!.*\n/u.exec(text)?.[0] ?? "";
  await write(path, shebang + text.slice(at + start.length, -end.length));
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/**
 * Bun looks for modules that are not in the executable in the current folder, so none may be left.
 *
 * @param own the names of its scripts
 * @param inside the folder that they have at run time
 * @param folder where they were built; its path must not be left either
 * @throws Error with the names of such modules, or with what it contains of this machine
 */
async function checkSelfContained(
  path: string,
  own: readonly string[],
  inside: string,
  folder: string,
): Promise<void> {
  const bytes = Buffer.from(await file(path).arrayBuffer());
  // Bun's own modules come first.
  const scripts = bytes.subarray(
    bytes.indexOf("// @bun", bytes.lastIndexOf("#!/usr/bin/env -S bun")),
  );
  const text = scripts.toString("latin1");
  const found = text.split(FIRST_LINE).length - 1;
  if (found !== own.length) {
    throw new Error(
      `${path} has ${found} scripts that begin with ${FIRST_LINE.trim()} instead of ${own.length}: ` +
        "if Bun begins them otherwise now, change FIRST_LINE",
    );
  }
  for (const foreign of [folder, `${ROOT}/packages/`, `${ROOT}/node_modules/`]) {
    const at = text.indexOf(foreign);
    if (at >= 0) {
      throw new Error(
        `${path} contains a path of this machine: ${text.slice(Math.max(0, at - 80), at + 160)}`,
      );
    }
  }
  const calls = text.matchAll(/\b(?:require(?:\.resolve)?|import)\(["'`]([^"'`]+)["'`]\)/gu);
  const names = [...calls].map(([, name = ""]) => name);
  const outside = names.filter(
    (name) =>
      !isBuiltin(name) &&
      !own.some((script) => name === inside + script) &&
      !(name.startsWith(inside) && name.endsWith(".node")) &&
      !IN_MESSAGES.test(name) &&
      !name.startsWith("bun:"),
  );
  // Names that are computed: all calls with anything but one literal.
  const computed =
    text.match(
      /(?<![\w.$])(?:require(?:\.resolve)?|import)\((?!["'`][^"'`]+["'`]\)).{0,40}|return import\(/gu,
    ) ?? [];
  if (names.length === 0 || outside.length > 0 || computed.length > 0) {
    throw new Error(
      `${path} loads modules from outside: ${[...new Set([...outside, ...computed])].join(", ")}`,
    );
  }
}
