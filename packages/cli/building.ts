/** What the bundle of the package and the single-file executables have in common. */
import { type BunPlugin, file } from "bun";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";

export { RELEASED, VERSION } from "./src/version.ts";

/** A replacement in the source of a bundled module. */
export interface Seam {
  readonly file: RegExp;
  /** Undefined to replace the whole module. */
  readonly from?: string;
  readonly to: string;
}

const COMMON: readonly Seam[] = [
  {
    // assert loads half of Node's modules.
    file: /\/sodium-native\/index\.js$/u,
    from: "require('assert')",
    to: "((holds, message) => { if (!holds) throw new Error(message); })",
  },
  {
    // Only called if the runtime has no node:crypto, which Bun has.
    file: /\/crypto\/nacl\/nacl-portable\.ts$/u,
    from: 'import nacl from "tweetnacl"',
    to: "const nacl = undefined",
  },
  {
    // Used for executable subcommands only, which idk does not have.
    file: /\/commander\/lib\/command\.js$/u,
    from: "import childProcess from 'node:child_process'",
    to: "const childProcess = undefined",
  },
  {
    // The same function, without a module that takes as long to load as a put of a small blob.
    file: /\/storage\/src\/url\/store-url\.ts$/u,
    from: 'import { fileURLToPath } from "node:url"',
    to: "const { fileURLToPath } = Bun",
  },
  ...["command", "help"].map((name) => ({
    file: new RegExp(`/commander/lib/${name}\\.js$`, "u"),
    from: "import { stripVTControlCharacters } from 'node:util'",
    to: "const stripVTControlCharacters = Bun.stripANSI",
  })),
];

/**
 * Replaces by exact match, so that an update which changes these lines fails the build.
 *
 * @param seams those of one build, besides the common ones
 * @param outside names of modules that stay external, and their names in the bundle
 */
export function seamsPlugin(
  seams: readonly Seam[],
  outside: Readonly<Record<string, string>> = {},
): BunPlugin {
  const all = [...seams, ...COMMON];
  return {
    name: "seams",
    setup(builder) {
      const files = new RegExp(all.map(({ file }) => file.source).join("|"), "u");
      builder.onLoad({ filter: files }, async ({ path, loader }) => {
        let contents = await file(path).text();
        for (const { from = contents, to } of all.filter((seam) => seam.file.test(path))) {
          if (!contents.includes(from)) throw new Error(`${path} no longer contains ${from}`);
          contents = contents.replace(from, () => to);
        }
        return { contents, loader };
      });
      builder.onResolve({ filter: /./u }, ({ path }) => {
        const name = outside[path];
        return name === undefined ? undefined : { path: name, external: true };
      });
    },
  };
}

/** The folders of the packages that bundled files belong to, other than this one. */
export function packagesOf(inputs: readonly string[]): string[] {
  const folder =
    /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)|^.*\/packages\/(?!cli\/)[^/]+(?=\/src\/)/u;
  // Relative to the current folder.
  const folders = inputs.flatMap((input) => folder.exec(resolve(input)) ?? []);
  return [...new Set(folders)].toSorted();
}

/** The licences of the bundled packages, which have to be distributed with them. */
export async function licences(folders: readonly string[]): Promise<string> {
  const texts = folders.map(async (at) => {
    const { name, version, license } = await file(join(at, "package.json")).json();
    const found = (await readdir(at)).find((entry) => /^licen[cs]e/iu.test(entry));
    const text = found === undefined ? `Licence: ${license}` : await file(join(at, found)).text();
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
