import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensureBuilt } from "../built.ts";
import { tmpdir } from "node:os";
import { z } from "zod";

/*
 * What comes with the packages: each tarball has a bill of materials that agrees with bun.lock, and no
 * package runs a script when it is installed.
 */

setDefaultTimeout(120_000);

const root = join(import.meta.dir, "../..");

const Licence = z.union([
  z.object({ expression: z.string() }),
  z.object({ license: z.object({ id: z.string() }) }),
]);
const Component = z.object({
  "bom-ref": z.string(),
  name: z.string(),
  version: z.string(),
  hashes: z.array(z.object({ alg: z.literal("SHA-512"), content: z.string() })).optional(),
  licenses: z.array(Licence).optional(),
  purl: z.string(),
  properties: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
});
const Materials = z.object({
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.6"),
  metadata: z.object({ component: Component }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});
const Names = z.record(z.string(), z.string()).default({});
const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  dependencies: Names,
  optionalDependencies: Names,
  peerDependencies: Names,
  scripts: Names,
});

/** Licences that allow what this project's own licence allows. Check a new one before adding it. */
const LICENCES = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "Unlicense",
];

async function run(argv: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...argv], { cwd, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")}: ${stderr}${stdout}`);
  return stdout;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-materials-"));
  await ensureBuilt();
});
afterAll(() => rm(folder, { recursive: true }));

const packed = new Map<string, Promise<(file: string) => Promise<string>>>();
/** Reads files of a package as it is published. */
async function tarball(name: string): Promise<(file: string) => Promise<string>> {
  const pack = async () => {
    const into = join(folder, name);
    await mkdir(into);
    const argv = [process.execPath, "pm", "pack", "--quiet", "--destination", into];
    await run(argv, join(root, "packages", name));
    const [file] = await readdir(into);
    return async (path: string) =>
      run(["tar", "-xzOf", join(into, file!), `package/${path}`], into);
  };
  const tar = packed.get(name) ?? pack();
  packed.set(name, tar);
  return tar;
}

async function materialsOf(name: string): Promise<z.infer<typeof Materials>> {
  const read = await tarball(name);
  return Materials.parse(JSON.parse(await read("dist/sbom.cdx.json")));
}

describe.each(["storage", "recorder", "cli"])("the bill of materials of %s", (ours) => {
  test("has versions and hashes of the lock file", async () => {
    const lock = await Bun.file(join(root, "bun.lock")).text();
    for (const { name, version, hashes, purl } of (await materialsOf(ours)).components) {
      expect(purl).toBe(`pkg:npm/${name.replace("@", "%40")}@${version}`);
      // Packages of this repository have no tarball yet.
      if (lock.includes(`["${name}@workspace:`)) continue;
      const [hash] = hashes ?? [];
      const integrity = Buffer.from(hash?.content ?? "", "hex").toString("base64");
      const entry = lock.split("\n").find((line) => line.includes(`["${name}@${version}",`));
      expect(entry).toContain(`"sha512-${integrity}"`);
    }
  });

  test("has all that an installation brings", async () => {
    const { metadata, components, dependencies } = await materialsOf(ours);
    const manifest = Manifest.parse(JSON.parse(await (await tarball(ours))("package.json")));
    const self = metadata.component;
    expect([self.name, self.version]).toEqual([manifest.name, manifest.version]);

    const needs = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const refs = components.map((component) => component["bom-ref"]);
    expect(new Set(needs.keys())).toEqual(new Set([self["bom-ref"], ...refs]));
    expect(refs).toEqual([...new Set(refs)].toSorted());
    for (const below of needs.values()) expect(refs).toEqual(expect.arrayContaining(below));
    const top = needs.get(self["bom-ref"])!.map((ref) => components[refs.indexOf(ref)]!.name);
    const { dependencies: required, optionalDependencies, peerDependencies } = manifest;
    const declared = Object.keys({ ...required, ...optionalDependencies, ...peerDependencies });
    expect(top).toEqual(expect.arrayContaining(declared));

    // What each installed package declares is below it.
    for (const { name, version, ...component } of components) {
      const own = await installed(name, version);
      const bundledOnly = component.properties !== undefined && !declared.includes(name);
      if (own === undefined || bundledOnly) continue;
      const below = needs.get(component["bom-ref"])!.join(" ");
      for (const needed of Object.keys({ ...own.dependencies, ...own.optionalDependencies })) {
        expect(below).toContain(`/${needed.replace("@", "%40")}@`);
      }
    }
  });

  test("states licences, none of them unknown to us", async () => {
    const { components } = await materialsOf(ours);
    for (const { name, licenses } of components) {
      // Of a package for one platform, only that platform has the manifest.
      if (licenses === undefined)
        expect(name).toMatch(/-(?:aarch64|arm|arm64|x64|ia32|ppc64|riscv64|s390x)/u);
      for (const licence of licenses ?? []) {
        const text = "license" in licence ? licence.license.id : licence.expression;
        for (const id of text.split(/ (?:AND|OR) |[()]/u)) expect(["", ...LICENCES]).toContain(id);
      }
    }
  });

  test("is the same each time", async () => {
    const { metadata, ...rest } = JSON.parse(await (await tarball(ours))("dist/sbom.cdx.json"));
    expect(Object.keys(rest)).not.toContain("serialNumber");
    expect(metadata.timestamp).toBeUndefined();
  });
});

test("the command's bill of materials marks what it bundles, and each has its licence", async () => {
  const { components } = await materialsOf("cli");
  const bundled = components
    .filter(({ properties }) => properties?.some(({ name }) => name === "idk:bundled"))
    .map(({ name, version }) => `${name} ${version}`);
  for (const name of ["@idk/storage", "commander", "@noble/hashes"]) {
    expect(bundled.some((item) => item.startsWith(`${name} `))).toBe(true);
  }
  const licences = (await (await tarball("cli"))("dist/LICENSES.txt")).split(/\n-{80}\n\n/u);
  const named = licences.map((text) => text.split("\n", 1)[0]!);
  expect(named.toSorted()).toEqual(bundled.toSorted());
});

const InstallScripts = z.object({
  name: z.string(),
  scripts: z.record(z.string(), z.string()).default({}),
});

/** Packages that want to run a script when they are installed. None has to: */
const WITH_INSTALL_SCRIPT: Readonly<Record<string, string>> = {
  "cbor-extract": "compiles an optional decoder for cbor-x, which the tests use without it",
  esbuild: "replaces a JavaScript launcher by the binary, which is a package of its own",
};

test("no dependency runs a script when it is installed", async () => {
  const { trustedDependencies } = await Bun.file(join(root, "package.json")).json();
  // Without the list, Bun trusts some hundred names of its own.
  expect(trustedDependencies).toEqual([]);

  const found = new Set<string>();
  const modules = join(root, "node_modules/.bun");
  for await (const path of new Bun.Glob("*/node_modules/{*,@*/*}/package.json").scan({
    cwd: modules,
    dot: true,
  })) {
    const parsed = InstallScripts.safeParse(await Bun.file(join(modules, path)).json());
    if (!parsed.success) continue;
    const { name, scripts } = parsed.data;
    const runs = ["preinstall", "install", "postinstall"].some((script) => script in scripts);
    // npm compiles whatever has this file.
    const compiles = await Bun.file(join(modules, path, "../binding.gyp")).exists();
    if (runs || compiles) found.add(name);
  }
  expect([...found].filter((name) => !(name in WITH_INSTALL_SCRIPT))).toEqual([]);

  // Installing our packages with npm runs all scripts of their dependencies.
  for (const name of ["storage", "recorder", "cli"]) {
    const { components } = await materialsOf(name);
    expect(components.filter((component) => found.has(component.name))).toEqual([]);
  }
});

async function installed(
  name: string,
  version: string,
): Promise<z.infer<typeof Manifest> | undefined> {
  const pattern = `node_modules/.bun/${name.replace("/", "+")}@${version}*/node_modules/${name}/package.json`;
  for await (const path of new Bun.Glob(pattern).scan({ cwd: root, dot: true })) {
    return Manifest.parse(await Bun.file(join(root, path)).json());
  }
  return undefined;
}
