import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { ARCHIVES } from "../../script/release-files.ts";
import { join } from "node:path";
import { ok } from "./projects.ts";

/** The files of a stand-in release, by name, as they are downloaded. */
export type Files = Map<string, Uint8Array | string>;

export interface Contents {
  /** What `idk` runs in the archives; by default it prints its version, and notes that it ran. */
  readonly command?: string;
  /** Version that the archives' names have, if not that of the release. */
  readonly archived?: string;
  readonly platforms?: readonly string[];
}

/** Writes a key pair for signatures, and returns the path of its private half. */
export async function makeKey(folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  await ok(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], folder);
  return path;
}

/** The line of packaging/allowed_signers for a key. */
export async function signerOf(key: string): Promise<string> {
  return `release@idk namespaces="idk-release" ${(await readFile(`${key}.pub`, "utf8")).trim()}\n`;
}

/** Signs a text as the release workflow does. */
export async function sign(
  folder: string,
  key: string,
  text: string,
  namespace = "idk-release",
): Promise<string> {
  const path = join(folder, `signed-${crypto.randomUUID()}`);
  await writeFile(path, text);
  await ok(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, path], folder);
  return readFile(`${path}.sig`, "utf8");
}

/** Makes archives as script/release does, with a shell script for the command. */
export async function makeArchives(
  folder: string,
  version: string,
  { command, platforms = [...ARCHIVES.keys()] }: Contents = {},
): Promise<Files> {
  const files: Files = new Map();
  const script = command ?? `#!/bin/sh\necho ran >>"$MARKS"\necho "idk ${version} (a stand-in)"\n`;
  for (const platform of platforms) {
    if (platform === "windows-x64") {
      files.set(`idk-${version}-${platform}.zip`, "a stand-in");
      continue;
    }
    const name = `idk-${version}-${platform}`;
    const at = join(folder, name);
    await mkdir(join(at, "completions"), { recursive: true });
    for (const path of ["LICENSE", "LICENSES.txt", "sbom.cdx.json", "idk.1"]) {
      await writeFile(join(at, path), `${path} of ${version}\n`);
    }
    for (const path of ["idk.bash", "_idk", "idk.fish"]) {
      await writeFile(join(at, "completions", path), `${path} of ${version}\n`);
    }
    await writeFile(join(at, "idk"), script);
    await chmod(join(at, "idk"), 0o755);
    await ok(["tar", "-czf", `${at}.tar.gz`, name], folder);
    files.set(`${name}.tar.gz`, await readFile(`${at}.tar.gz`));
  }
  return files;
}

/** The text of SHA256SUMS for files. */
export function sumsOf(files: Files): string {
  const lines = [...files].map(([name, content]) => {
    return `${new Bun.CryptoHasher("sha256").update(content).digest("hex")}  ${name}\n`;
  });
  return lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join("");
}
