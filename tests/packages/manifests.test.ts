import { expect, test } from "bun:test";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { ok, root } from "./projects.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";

const FIELDS = ["dependencies", "devDependencies", "optionalDependencies"] as const;
type Versions = Record<string, string>;
type Manifest = Partial<Record<(typeof FIELDS)[number] | "peerDependencies", Versions>>;

const MANIFESTS = [
  "package.json",
  "examples/package.json",
  ...new Bun.Glob("packages/*/package.json").scanSync({ cwd: root }),
];

// Package managers that install one package by its path do not see the workspace, so each manifest has
// the versions itself.
test("every manifest pins the same version of the same package", async () => {
  const versions = new Map<string, Map<string, string[]>>();
  for (const path of MANIFESTS) {
    const manifest = (await Bun.file(join(root, path)).json()) as Manifest;
    for (const [name, version] of FIELDS.flatMap((key) => Object.entries(manifest[key] ?? {}))) {
      if (version === "workspace:*") continue;
      const found = versions.get(name) ?? new Map<string, string[]>();
      versions.set(name, found);
      found.set(version, [...(found.get(version) ?? []), path]);
    }
  }
  const inexact = [...versions].filter(([, found]) =>
    [...found.keys()].some((version) => !/^\d+\.\d+\.\d+$/u.test(version)),
  );
  expect(Object.fromEntries(inexact)).toEqual({});
  const different = [...versions].filter(([, found]) => found.size > 1);
  expect(Object.fromEntries(different)).toEqual({});
});

test("peer dependencies start at the version that the tests use", async () => {
  const manifest = (await Bun.file(join(root, "packages/storage/package.json")).json()) as Manifest;
  const { peerDependencies: peers = {}, devDependencies: used = {} } = manifest;
  expect(Object.keys(peers)).not.toBeEmpty();
  expect(peers).toEqual(
    Object.fromEntries(Object.keys(peers).map((name) => [name, `^${used[name]}`])),
  );
});

test("the command comes with the pinned Bun", async () => {
  const { packageManager } = await Bun.file(join(root, "package.json")).json();
  const command = (await Bun.file(join(root, "packages/cli/package.json")).json()) as Manifest;
  const runtimes = Object.entries(command.optionalDependencies ?? {}).filter(([name]) =>
    name.startsWith("@oven/bun-"),
  );
  expect(runtimes).toHaveLength(7);
  for (const [, version] of runtimes) expect(`bun@${version}`).toBe(packageManager);
});

/** The packages that are not private, by the names of their folders, each with those it depends on. */
async function publishedPackages(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const path of MANIFESTS) {
    const { private: isPrivate, name, dependencies = {} } = await Bun.file(join(root, path)).json();
    if (isPrivate === true) continue;
    const folderOf = (full: string): string => full.replace("@idk/", "");
    const own = Object.keys(dependencies).filter((needed) => needed.startsWith("@idk/"));
    found.set(folderOf(name), own.map(folderOf));
  }
  return found;
}

test.each(["script/pack", "script/release", ".github/workflows/release.yml", "docs/releasing.md"])(
  "%s names all published packages, each after those that it depends on",
  async (path) => {
    const published = await publishedPackages();
    expect(published.get("recorder")).toEqual(["storage"]);
    const text = await Bun.file(join(root, path)).text();
    const lists = text.match(/(?<=\bfor package in )[^;]+/gu) ?? [];
    expect(lists).not.toBeEmpty();
    for (const list of lists) {
      const names = list.split(" ");
      expect(names.toSorted()).toEqual([...published.keys()].toSorted());
      for (const [index, name] of names.entries()) {
        expect(names.slice(0, index)).toEqual(expect.arrayContaining([...published.get(name)!]));
      }
    }
    // In a sentence.
    for (const name of published.keys()) {
      if (path.endsWith(".md")) expect(text).toContain(`\`packages/${name}\``);
    }
  },
);

test("the packages have keywords, and `script/pack` adds where their repository is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-manifests-"));
  try {
    for (const name of (await publishedPackages()).keys()) {
      const directory = `packages/${name}`;
      const path = join(folder, `${name}.json`);
      await copyFile(join(root, directory, "package.json"), path);
      const program = join(root, "script/name-repository.ts");
      await ok([process.execPath, program, path, "owner/idk", directory], folder);
      const named = await Bun.file(path).json();
      expect(named.keywords).toContain("encryption");
      expect(named).toMatchObject({
        repository: { type: "git", url: "git+https://github.com/owner/idk.git", directory },
        homepage: `https://github.com/owner/idk/tree/main/${directory}#readme`,
        bugs: "https://github.com/owner/idk/issues",
      });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
