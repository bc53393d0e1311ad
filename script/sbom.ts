/**
 * A software bill of materials for a published package, as CycloneDX JSON: the packages that are
 * bundled with it, and those that an installation brings, at the locked versions, with which it is
 * tested. From bun.lock and node_modules alone, and the same on every machine.
 *
 * Usage: bun script/sbom.ts PACKAGE      such as storage; writes packages/PACKAGE/dist/sbom.cdx.json
 */
import { file, Glob, write } from "bun";
import { join } from "node:path";
import { z } from "zod";

const root = join(import.meta.dir, "..");

const Names = z.record(z.string(), z.string()).default({});
const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string().optional(),
  license: z.string().optional(),
  dependencies: Names,
  optionalDependencies: Names,
  peerDependencies: Names,
});
type Manifest = z.infer<typeof Manifest>;

/** An entry of bun.lock: name and version, registry, what it needs, and the hash of its tarball. */
const Registry = z.tuple([
  z.string(),
  z.string(),
  z.object({
    dependencies: Names,
    optionalDependencies: Names,
    os: z.unknown().optional(),
    cpu: z.unknown().optional(),
  }),
  z.string().regex(/^sha512-/u),
]);
const Lock = z.object({
  packages: z.record(z.string(), z.union([Registry, z.tuple([z.string()])])),
});

interface Component {
  readonly type: "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly scope: "required" | "optional";
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
  readonly licenses?: readonly ({ readonly expression: string } | { readonly license: object })[];
  readonly purl: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Found {
  /** Its key in bun.lock, below which its own dependencies may be. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
}

/** Begins the version of another package of this repository, before the path of its folder. */
const WORKSPACE = "workspace:";

/** What marks a component whose code is in the package itself. */
const BUNDLED = { name: "idk:bundled", value: "true" } as const;

/**
 * @param name the folder of the package below packages/
 * @param bundled folders of installed packages whose code is in the bundle
 */
export async function billOfMaterials(
  name: string,
  bundled: readonly string[] = [],
): Promise<object> {
  const lock = Lock.parse(Bun.JSONC.parse(await file(join(root, "bun.lock")).text())).packages;
  const manifest = await manifestIn(join(root, "packages", name));
  const components = new Map<string, Component>();
  const needs = new Map<string, readonly string[]>();

  const inBundle = new Set<string>();
  for (const folder of bundled) {
    const { name, version } = await manifestIn(folder);
    inBundle.add(purl(name, version));
  }

  /**
   * Adds a package and everything below it, or, if its code is in the bundle, what is bundled of that.
   * What is required wins over what is optional.
   */
  const add = async (
    { key, name, version }: Found,
    scope: Component["scope"],
    bundledOnly = false,
  ): Promise<string> => {
    if (version.startsWith(WORKSPACE)) {
      return addOwn(join(root, version.slice(WORKSPACE.length)), scope);
    }
    const ref = purl(name, version);
    const known = components.get(ref);
    if (known !== undefined) {
      if (known.scope === "required" || scope === "optional") return ref;
      components.set(ref, { ...known, scope });
      // It is installed, too, and what is below it has been added.
      if (bundledOnly) return ref;
    }
    const entry = lock[key];
    if (entry?.length !== 4) throw new Error(`${key} is not a package of the registry`);
    const [, , { dependencies, optionalDependencies, os, cpu }, integrity] = entry;
    const isForPlatform = os !== undefined || cpu !== undefined;
    components.set(ref, {
      type: "library",
      "bom-ref": ref,
      name,
      version,
      scope,
      hashes: [{ alg: "SHA-512", content: hexOf(integrity) }],
      // Installed on its own platform only, so that its licence cannot be read everywhere.
      ...(isForPlatform ? {} : { licenses: licences(await installed(name, version)) }),
      purl: ref,
      ...(inBundle.has(ref) && { properties: [BUNDLED] }),
    });
    const below: string[] = [];
    for (const [names, optional] of [
      [dependencies, scope],
      [optionalDependencies, "optional"],
    ] as const) {
      for (const needed of Object.keys(names)) {
        const found = resolved(lock, needed, key);
        if (bundledOnly && !inBundle.has(purl(found.name, found.version))) continue;
        below.push(await add(found, optional, bundledOnly));
      }
    }
    needs.set(ref, below.toSorted());
    return ref;
  };

  /** Adds another package of this repository, and everything that its installation brings. */
  const addOwn = async (folder: string, scope: Component["scope"]): Promise<string> => {
    const own = await manifestIn(folder);
    const component = ownComponent(own, scope);
    components.set(component["bom-ref"], component);
    const below: string[] = [];
    for (const [names, optional] of [
      [own.dependencies, scope],
      [own.optionalDependencies, "optional"],
    ] as const) {
      for (const needed of Object.keys(names)) {
        below.push(await add(resolved(lock, needed, own.name), optional));
      }
    }
    needs.set(component["bom-ref"], below.toSorted());
    return component["bom-ref"];
  };

  const top: string[] = [];
  for (const [names, scope] of [
    [manifest.dependencies, "required"],
    [manifest.optionalDependencies, "optional"],
    [manifest.peerDependencies, "optional"],
  ] as const) {
    for (const needed of Object.keys(names)) {
      top.push(await add(resolved(lock, needed, manifest.name), scope));
    }
  }
  for (const folder of bundled) {
    const own = await manifestIn(folder);
    const { name, version } = own;
    const key = Object.keys(lock).find((key) => lock[key]?.[0] === `${name}@${version}`);
    const ref = purl(name, version);
    if (key !== undefined) await add({ key, name, version }, "required", true);
    else if (lock[name]?.length !== 1) throw new Error(`bun.lock has no ${name} ${version}`);
    else {
      components.set(ref, { ...ownComponent(own, "required"), properties: [BUNDLED] });
      needs.set(ref, []);
    }
    top.push(ref);
  }

  const self = purl(manifest.name, manifest.version);
  needs.set(self, [...new Set(top)].toSorted());
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: name === "cli" ? "application" : "library",
        "bom-ref": self,
        name: manifest.name,
        version: manifest.version,
        ...(manifest.description !== undefined && { description: manifest.description }),
        licenses: licences(manifest),
        purl: self,
      },
    },
    components: [...components.values()].toSorted((a, b) => order(a["bom-ref"], b["bom-ref"])),
    dependencies: [...needs]
      .toSorted(([a], [b]) => order(a, b))
      .map(([ref, dependsOn]) => ({ ref, dependsOn })),
  };
}

/** A dependency is in the folder of its dependent, or in one above it. */
function resolved(lock: z.infer<typeof Lock>["packages"], name: string, from: string): Found {
  const above = from.match(/(?:@[^/]+\/)?[^/]+/gu) ?? [];
  for (let depth = above.length; depth >= 0; depth--) {
    const key = [...above.slice(0, depth), name].join("/");
    const [id] = lock[key] ?? [];
    if (id !== undefined) return { key, name, version: id.slice(id.lastIndexOf("@") + 1) };
  }
  throw new Error(`bun.lock has no ${name}, which ${from} needs`);
}

/** Another package of this repository: it has no tarball yet, so no hash. */
function ownComponent(manifest: Manifest, scope: Component["scope"]): Component {
  const { name, version } = manifest;
  const ref = purl(name, version);
  return {
    type: "library",
    "bom-ref": ref,
    name,
    version,
    scope,
    licenses: licences(manifest),
    purl: ref,
  };
}

async function manifestIn(folder: string): Promise<Manifest> {
  return Manifest.parse(await file(join(folder, "package.json")).json());
}

async function installed(name: string, version: string): Promise<Manifest> {
  const pattern = `node_modules/.bun/${name.replace("/", "+")}@${version}*/node_modules/${name}/package.json`;
  for await (const path of new Glob(pattern).scan({ cwd: root, dot: true })) {
    const manifest = Manifest.parse(await file(join(root, path)).json());
    if (manifest.version === version) return manifest;
  }
  throw new Error(`${name} ${version} is not installed: run bun install`);
}

function licences({ name, license }: Manifest): NonNullable<Component["licenses"]> {
  if (license === undefined) throw new Error(`${name} states no licence`);
  const isExpression = /\s(?:AND|OR|WITH)\s/u.test(license);
  return isExpression ? [{ expression: license }] : [{ license: { id: license } }];
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hexOf(integrity: string): string {
  return Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

if (import.meta.main) {
  const [name = ""] = process.argv.slice(2);
  const path = join(root, "packages", name, "dist/sbom.cdx.json");
  await write(path, `${JSON.stringify(await billOfMaterials(name), null, 2)}\n`);
}
