/**
 * Divides the command into scripts, because every start reads all of each script that it loads. The first
 * part has what a put, a get and a stat need; modules that only other commands need are in later parts,
 * which are loaded when such a command runs. A module of this repository is in one part only, because some
 * have state: the others take it from there. Packages from elsewhere are bundled into each part.
 */
import { type BunPlugin, build } from "bun";
import { relative, resolve } from "node:path";

export interface Part {
  /** The name of the script without its ending. */
  readonly name: string;
  /** Modules loaded when needed that the part has if no earlier part does, by their paths in the repository. */
  readonly from: RegExp;
}

/** The part of each module, and what each module imports, both by paths in the repository. */
interface Division {
  readonly partOf: ReadonlyMap<string, Part>;
  readonly imports: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** A module of this repository, which has to exist once. */
const OWN = /^packages\/[^/]+\/src\//u;

/** The build of the first part, with its entry point. */
type FirstPart = Bun.BuildConfig & { readonly entrypoints: [string] };

/** Follows static imports from the first module, and from those that are imported when needed. */
async function divide(config: FirstPart, parts: readonly Part[], root: string): Promise<Division> {
  const { outdir: _, ...inMemory } = config;
  const { metafile } = await build({ ...inMemory, bytecode: false });
  const pathOf = (input: string) => relative(root, resolve(input));
  const entry = pathOf(config.entrypoints[0]);
  const imports = new Map<string, Map<string, string>>();
  const followed = new Map<string, string[]>();
  const later = new Set<string>();
  for (const [input, { imports: all }] of Object.entries(metafile!.inputs)) {
    const from = pathOf(input);
    const known = all.filter(({ path }) => metafile!.inputs[path] !== undefined);
    const targets = known.map(({ path, kind, original = path }) => ({
      original,
      kind,
      to: pathOf(path),
    }));
    imports.set(from, new Map(targets.map(({ original, to }) => [original, to])));
    const lazily = targets.filter(({ kind, to }) => kind === "dynamic-import" && OWN.test(to));
    for (const { to } of lazily) later.add(to);
    followed.set(
      from,
      targets.filter((target) => !lazily.includes(target)).map(({ to }) => to),
    );
  }
  const partOf = new Map<string, Part>();
  for (const part of parts) {
    const assign = (path: string): void => {
      if (!OWN.test(path) || partOf.has(path)) return;
      partOf.set(path, part);
      for (const next of followed.get(path) ?? []) assign(next);
    };
    if (part === parts[0]) assign(entry);
    for (const path of later) if (part.from.test(path)) assign(path);
  }
  const left = [...later].filter((path) => !partOf.has(path));
  if (left.length > 0) throw new Error(`no part has ${left.join(", ")}`);
  return { partOf, imports };
}

/**
 * Builds all parts.
 *
 * @param pluginsOf the other plugins of a part; `give` is the code of the function by which the first part
 *   gives its modules to others
 */
export async function buildParts(
  config: FirstPart,
  parts: readonly Part[],
  root: string,
  pluginsOf: (give: string) => BunPlugin[],
): Promise<Awaited<ReturnType<typeof build>>[]> {
  const { partOf, imports } = await divide({ ...config, plugins: pluginsOf("") }, parts, root);
  const taken = new Map(parts.map((part) => [part, new Set<string>()]));
  for (const [from, targets] of imports) {
    for (const to of targets.values()) {
      const part = partOf.get(to);
      if (part !== undefined && partOf.has(from) && part !== partOf.get(from)) {
        taken.get(part)?.add(to);
      }
    }
  }
  const giveOf = (part: Part | undefined): string => {
    const paths = part === undefined ? [] : [...(taken.get(part) ?? [])].toSorted();
    const cases = paths.map(
      (path) =>
        `case ${JSON.stringify(path)}: return require(${JSON.stringify(resolve(root, path))});`,
    );
    return `export function give(path) { switch (path) { ${cases.join("\n")} } }`;
  };
  const plugin = (part: Part): BunPlugin => ({
    name: "parts",
    setup(builder) {
      builder.onResolve({ filter: /./u }, ({ path, importer }) => {
        if (path === part.name) return { path, namespace: "given" };
        const to = imports.get(relative(root, importer))?.get(path) ?? "";
        const other = partOf.get(to);
        return other === undefined || other === part ? undefined : { path: to, namespace: "taken" };
      });
      builder.onLoad({ filter: /./u, namespace: "given" }, () => ({
        contents: giveOf(part),
        loader: "js",
      }));
      builder.onLoad({ filter: /./u, namespace: "taken" }, ({ path }) => ({
        contents: `module.exports = require("./${partOf.get(path)?.name}.cjs").give(${JSON.stringify(path)});`,
        loader: "js",
      }));
    },
  });
  const built = await Promise.all(
    parts.map(async (part) =>
      build({
        ...config,
        entrypoints: part === parts[0] ? config.entrypoints : [part.name],
        naming: `${part.name}.cjs`,
        plugins: [plugin(part), ...pluginsOf(giveOf(parts[0]))],
      }),
    ),
  );
  const has = new Set<string>();
  for (const path of built.flatMap(({ metafile }) => Object.keys(metafile!.inputs))) {
    if (!OWN.test(relative(root, resolve(path)))) continue;
    if (has.has(path)) throw new Error(`two parts have ${path}`);
    has.add(path);
  }
  return built;
}
