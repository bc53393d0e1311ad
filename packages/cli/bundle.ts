/**
 * Builds the published command in `dist`: its scripts (see scripts.ts), their bytecode, which saves parsing,
 * the licences of the bundled packages, a bill of materials, and `launcher.cjs`, with which Node starts all
 * that on Bun. Native packages, and those that only large files and object stores need, stay outside as
 * dependencies.
 *
 * Usage: bun packages/cli/bundle.ts [FOLDER]
 */
import { write } from "bun";
import { access, copyFile, mkdir, mkdtemp, readdir, rename, rm, utimes } from "node:fs/promises";
import { type Seam, licences } from "./building.ts";
import { billOfMaterials } from "../../script/sbom.ts";
import { buildScripts } from "./scripts.ts";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2] ?? join(import.meta.dir, "dist"));

/** Not bundled: loaded from node_modules when needed. */
const EXTERNAL = [
  "@aws-sdk/*",
  "@idk/bench",
  "@smithy/*",
  "lz4-napi",
  "minio",
  "piscina",
  "sodium-native/package.json",
];

const SODIUM: Seam = {
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
  const { names: scripts, packages } = await buildScripts(building, {
    seams: [SODIUM],
    external: EXTERNAL,
    bytecode: true,
    banner: ON_NODE,
  });
  // Bun silently omits bytecode that it cannot generate.
  for (const name of scripts) await access(join(building, `${name}.jsc`));
  await write(join(building, "LICENSES.txt"), await licences(packages));
  const materials = await billOfMaterials("cli", packages);
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
