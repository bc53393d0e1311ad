/**
 * Writes the files of a release that name its archives, `install.sh` and the Homebrew formula `idk.rb`,
 * into the folder with the archives and their SHA256SUMS. Fails if a platform is missing, or if there is
 * no release key yet.
 *
 * Usage: bun script/release-files.ts VERSION OWNER/NAME FOLDER
 */
import { chmod } from "node:fs/promises";
import { file, write } from "bun";
import { join } from "node:path";

const PACKAGING = join(import.meta.dir, "../packaging");

/** The platforms of a release, each with the ending of its archive. */
export const ARCHIVES: ReadonlyMap<string, string> = new Map([
  ["linux-arm64", "tar.gz"],
  ["linux-arm64-musl", "tar.gz"],
  ["linux-x64", "tar.gz"],
  ["linux-x64-musl", "tar.gz"],
  ["macos-arm64", "tar.gz"],
  ["macos-x64", "tar.gz"],
  ["windows-x64", "zip"],
]);

const SIGNER = /^release@idk namespaces="idk-release" ssh-ed25519 [A-Za-z0-9+/]{68}$/u;

export interface Release {
  /** Such as `1.2.3`. */
  readonly version: string;
  /** The page of all releases, without a slash at its end: `https://github.com/OWNER/NAME/releases`. */
  readonly releases: string;
}

/**
 * Returns the installer of a release.
 * @param signers the keys that the installer trusts, in the form of packaging/allowed_signers
 * @throws if `signers` has no key, or a line that is none
 */
export async function installer(release: Release, signers: string): Promise<string> {
  const keys = signers.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  if (keys.length === 0) {
    throw new Error(
      "packaging/allowed_signers has no release key; docs/releasing.md describes how to create it",
    );
  }
  const wrong = keys.find((line) => !SIGNER.test(line));
  if (wrong !== undefined) {
    throw new Error(`packaging/allowed_signers has a line that is not a release key: ${wrong}`);
  }
  return fill("install.sh", {
    RELEASES: release.releases,
    VERSION: release.version,
    RELEASE_KEYS: keys.join("\n"),
  });
}

/**
 * Returns the Homebrew formula of a release.
 * @param sums the text of its SHA256SUMS
 * @throws if `sums` does not have exactly the archives of `ARCHIVES`
 */
export async function formula(release: Release, sums: string): Promise<string> {
  const digests = new Map(
    sums
      .trimEnd()
      .split("\n")
      .map((line) => {
        const [, digest, name] = /^([0-9a-f]{64}) [ *](\S+)$/u.exec(line) ?? [];
        if (name === undefined) throw new Error(`SHA256SUMS has a line of another form: ${line}`);
        return [name, digest!];
      }),
  );
  const values: Record<string, string> = {
    VERSION: release.version,
    REPOSITORY: release.releases.replace("https://github.com/", "").replace(/\/releases$/u, ""),
  };
  for (const [platform, ending] of ARCHIVES) {
    const name = `idk-${release.version}-${platform}.${ending}`;
    const digest = digests.get(name);
    if (digest === undefined) throw new Error(`SHA256SUMS has no ${name}`);
    digests.delete(name);
    values[`URL_${platform}`] = `${release.releases}/download/v${release.version}/${name}`;
    values[`SHA256_${platform}`] = digest;
  }
  if (digests.size > 0)
    throw new Error(`SHA256SUMS has too much: ${[...digests.keys()].join(", ")}`);
  return fill("idk.rb", values);
}

/** Replaces each `@NAME@` of a template. */
async function fill(name: string, values: Readonly<Record<string, string>>): Promise<string> {
  const template = await file(join(PACKAGING, name)).text();
  return template.replaceAll(/@(?:[A-Z][A-Z0-9_]+)(?:_[a-z0-9-]+)?@/gu, (placeholder) => {
    const value = values[placeholder.slice(1, -1)];
    if (value === undefined) throw new Error(`packaging/${name} has an unknown ${placeholder}`);
    return value;
  });
}

if (import.meta.main) {
  const [version = "", repository = "", folder = ""] = process.argv.slice(2);
  try {
    if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/u.test(version)) {
      throw new Error(`"${version}" is not a version such as 1.2.3`);
    }
    if (!/^[\w.-]+\/[\w.-]+$/u.test(repository)) {
      throw new Error(`"${repository}" is not a repository such as OWNER/NAME`);
    }
    const release = { version, releases: `https://github.com/${repository}/releases` };
    const sums = await file(join(folder, "SHA256SUMS")).text();
    const signers = await file(join(PACKAGING, "allowed_signers")).text();
    const files = {
      "install.sh": await installer(release, signers),
      "idk.rb": await formula(release, sums),
    };
    for (const [name, text] of Object.entries(files)) await write(join(folder, name), text);
    await chmod(join(folder, "install.sh"), 0o755);
  } catch (error) {
    console.error(`release-files: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
