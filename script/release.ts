/**
 * Makes the archives of script/release. Bun's executables and the native libraries of other platforms come
 * from the npm registry, and are used only if they are the ones in bun.lock.
 *
 * Usage: bun script/release.ts VERSION [PLATFORM…]
 */
import { $, file, write } from "bun";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { billOfMaterials } from "./sbom.ts";
import { compileExecutable } from "../packages/cli/executable.ts";
import { RELEASED, VERSION, licences } from "../packages/cli/building.ts";

interface Platform {
  /** Bun's name of the target. */
  readonly target: Bun.Build.CompileTarget;
  /** The package with Bun's executable. */
  readonly bun: string;
  /** The folder of sodium-native's library; undefined if there is none. */
  readonly sodium?: string;
  /** The package with the LZ4 library. */
  readonly lz4: string;
}

const LZ4 = "@antoniomuso/lz4-napi";

export const PLATFORMS: ReadonlyMap<string, Platform> = new Map<string, Platform>([
  [
    "linux-x64",
    {
      target: "bun-linux-x64",
      bun: "@oven/bun-linux-x64",
      sodium: "linux-x64",
      lz4: `${LZ4}-linux-x64-gnu`,
    },
  ],
  [
    "linux-arm64",
    {
      target: "bun-linux-arm64",
      bun: "@oven/bun-linux-aarch64",
      sodium: "linux-arm64",
      lz4: `${LZ4}-linux-arm64-gnu`,
    },
  ],
  // The libraries of sodium-native for Linux need glibc.
  [
    "linux-x64-musl",
    {
      target: "bun-linux-x64-musl",
      bun: "@oven/bun-linux-x64-musl",
      lz4: `${LZ4}-linux-x64-musl`,
    },
  ],
  [
    "linux-arm64-musl",
    {
      target: "bun-linux-arm64-musl",
      bun: "@oven/bun-linux-aarch64-musl",
      lz4: `${LZ4}-linux-arm64-musl`,
    },
  ],
  [
    "macos-x64",
    {
      target: "bun-darwin-x64",
      bun: "@oven/bun-darwin-x64",
      sodium: "darwin-x64",
      lz4: `${LZ4}-darwin-x64`,
    },
  ],
  [
    "macos-arm64",
    {
      target: "bun-darwin-arm64",
      bun: "@oven/bun-darwin-aarch64",
      sodium: "darwin-arm64",
      lz4: `${LZ4}-darwin-arm64`,
    },
  ],
  [
    "windows-x64",
    {
      target: "bun-windows-x64",
      bun: "@oven/bun-windows-x64",
      sodium: "win32-x64",
      lz4: `${LZ4}-win32-x64-msvc`,
    },
  ],
]);

const root = join(import.meta.dir, "..");
const cache = join(root, ".cache/release");
const prebuilds = join(root, "packages/cli/node_modules/sodium-native/prebuilds");

const COMPLETIONS = { bash: "idk.bash", zsh: "_idk", fish: "idk.fish" } as const;

/**
 * Compiles the executable of a platform.
 *
 * @param folder where to put it, as `idk` or `idk.exe`; it also gets the packages it is made from
 * @returns its path, and the folders of the packages whose code it contains
 */
export async function compileFor(
  name: string,
  folder: string,
  platform: Platform | undefined = PLATFORMS.get(name),
): Promise<{ readonly outfile: string; readonly contained: readonly string[] }> {
  if (platform === undefined) {
    throw new Error(
      `there is no platform ${name}: take some of ${[...PLATFORMS.keys()].join(" ")}`,
    );
  }
  const runtime = await lockedPackage(platform.bun, folder);
  const lz4 = await lockedPackage(platform.lz4, folder);
  const library = (await readdir(lz4)).find((entry) => entry.endsWith(".node"));
  if (library === undefined) throw new Error(`${platform.lz4} contains no library`);
  const suffix = name.startsWith("windows-") ? ".exe" : "";
  const outfile = join(folder, `idk${suffix}`);
  const { sodium } = platform;
  const bundled = await compileExecutable({
    platform: name,
    target: platform.target,
    bun: join(runtime, `bin/bun${suffix}`),
    sodium: sodium && join(prebuilds, sodium, "sodium-native.node"),
    lz4: join(lz4, library),
    outfile,
  });
  await chmod(outfile, 0o755);
  return { outfile, contained: [...bundled, lz4, runtime] };
}

/** Unpacks a package of the registry whose tarball is the one in bun.lock, and returns its folder. */
async function lockedPackage(name: string, folder: string): Promise<string> {
  const lock = Bun.JSONC.parse(await file(join(root, "bun.lock")).text()) as {
    packages: Record<string, readonly unknown[]>;
  };
  const [id, , , integrity] = lock.packages[name] ?? [];
  if (typeof id !== "string" || typeof integrity !== "string") {
    throw new Error(`bun.lock has no ${name}`);
  }
  await mkdir(cache, { recursive: true });
  const tarball = join(cache, `${id.replaceAll(/[@/]/gu, "-").slice(1)}.tgz`);
  if (!(await file(tarball).exists())) {
    const downloads = await mkdtemp(join(cache, "download-"));
    try {
      await $`npm pack --silent --pack-destination ${downloads} ${id}`.cwd(downloads).quiet();
      const [downloaded] = await readdir(downloads);
      await rename(join(downloads, downloaded!), tarball);
    } finally {
      await rm(downloads, { recursive: true });
    }
  }
  const hash = new Bun.CryptoHasher("sha512").update(await file(tarball).bytes()).digest("base64");
  if (`sha512-${hash}` !== integrity) {
    await rm(tarball);
    throw new Error(`${id} is not the package in bun.lock: sha512-${hash}, not ${integrity}`);
  }
  const unpacked = join(folder, "packages", basename(tarball, ".tgz"));
  await mkdir(unpacked, { recursive: true });
  await $`tar --extract --gzip --file ${tarball} --directory ${unpacked} --strip-components 1`;
  return unpacked;
}

/** Makes the archive of a platform in a folder, and returns its name. */
export async function archiveFor(name: string, into: string): Promise<string> {
  await mkdir(cache, { recursive: true });
  const working = await mkdtemp(join(cache, "build-"));
  try {
    const { outfile, contained } = await compileFor(name, working);
    const top = `idk-${VERSION}-${name}`;
    const at = join(working, top);
    await mkdir(join(at, "completions"), { recursive: true });
    await rename(outfile, join(at, basename(outfile)));
    await copyFile(join(root, "LICENSE"), join(at, "LICENSE"));
    await write(join(at, "LICENSES.txt"), await licences(contained));
    const materials = await billOfMaterials("cli", contained);
    await write(join(at, "sbom.cdx.json"), `${JSON.stringify(materials, null, 2)}\n`);
    const idk = (...args: string[]) =>
      $`${process.execPath} ${join(root, "packages/cli/src/main.ts")} ${args}`.quiet().text();
    await write(join(at, "idk.1"), await idk("help", "man"));
    for (const [shell, script] of Object.entries(COMPLETIONS)) {
      await write(join(at, "completions", script), await idk("completion", shell));
    }

    // The bytes depend on nothing but the content: not on dates, users, modes or the order of files.
    const date = new Date(`${RELEASED} UTC`);
    const files = [...new Bun.Glob("**").scanSync({ cwd: working, onlyFiles: false })]
      .filter((path) => path === top || path.startsWith(`${top}/`))
      .toSorted();
    for (const path of files) {
      const isFolder = (await file(join(working, path)).stat()).isDirectory();
      await chmod(
        join(working, path),
        isFolder || path === join(top, basename(outfile)) ? 0o755 : 0o644,
      );
    }
    for (const path of files.toReversed()) await utimes(join(working, path), date, date);
    const isZip = name.startsWith("windows-");
    const archive = join(into, `${top}.${isZip ? "zip" : "tar.gz"}`);
    await mkdir(dirname(archive), { recursive: true });
    await rm(archive, { force: true });
    if (isZip) {
      await $`TZ=UTC zip --quiet -X ${archive} ${files}`.cwd(working);
    } else {
      const flags = ["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"];
      await $`tar --create ${flags} ${top} | gzip --no-name > ${archive}`.cwd(working);
    }
    return basename(archive);
  } finally {
    await rm(working, { recursive: true });
  }
}

/** Writes SHA256SUMS of these files, as sha256sum prints them. */
async function writeSums(folder: string, names: readonly string[]): Promise<void> {
  const lines = names.toSorted().map(async (name) => {
    const bytes = await file(join(folder, name)).bytes();
    return `${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}  ${name}\n`;
  });
  await write(join(folder, "SHA256SUMS"), (await Promise.all(lines)).join(""));
}

/** Makes the archives of these platforms, and SHA256SUMS, in a folder that then has nothing else. */
export async function release(names: readonly string[], folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const archives: string[] = [];
  for (const name of names) archives.push(await archiveFor(name, folder));
  await writeSums(folder, archives);
}

if (import.meta.main) {
  const [, ...names] = process.argv.slice(2);
  const folder = join(root, "dist/release");
  await release(names.length === 0 ? [...PLATFORMS.keys()] : names, folder);
  console.log(await file(join(folder, "SHA256SUMS")).text());
}
