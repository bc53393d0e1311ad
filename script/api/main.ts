#!/usr/bin/env bun
/*
 * Makes the API reference of @idk/storage from its docstrings, one Markdown page for each entry point.
 * Fails if an exported function, method, class, interface, type or constant has no docstring, or if a
 * type that they use is not exported.
 *
 * Usage: bun script/api/main.ts [FOLDER]      (default: docs/api, which git ignores)
 */
import { Application } from "typedoc";
import { join } from "node:path";
import manifest from "../../packages/storage/package.json" with { type: "json" };

const root = join(import.meta.dir, "../..");
const storage = join(root, "packages/storage");
const out = Bun.argv[2] ?? join(root, "docs/api");
const entryPoints = Object.entries(manifest.exports).map(([name, { bun: file }]) => ({
  name: `@idk/storage${name.slice(1)}`,
  file: join(storage, file),
  /** The name that TypeDoc gives the module. */
  module: file.replace(/^\.\/src\/(.+?)(?:(?<=.)\/index)?\.ts$/u, "$1"),
}));

const app = await Application.bootstrapWithPlugins({
  plugin: ["typedoc-plugin-markdown"],
  name: "@idk/storage",
  entryPoints: entryPoints.map(({ file }) => file),
  tsconfig: join(storage, "tsconfig.build.json"),
  // `bun run types` checks them, with the compiler that the project uses.
  skipErrorChecking: true,
  readme: "none",
  disableSources: true,
  validation: { notDocumented: true, notExported: true, invalidLink: true },
  excludeInternal: true,
  // A fake clock is for our own tests; the methods of a backend are listed where it is described.
  intentionallyNotExported: ["Clock", "Method"],
  requiredToBeDocumented: ["Function", "Method", "Class", "Interface", "TypeAlias", "Variable"],
});
const project = await app.convert();
if (!project) process.exit(1);
for (const child of project.children ?? []) {
  child.name = entryPoints.find(({ module }) => module === child.name)!.name;
}
app.validate(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);
app.options.setValue("outputs", [{ name: "markdown", path: out }]);
app.options.setValue("outputFileStrategy", "modules");
await app.generateOutputs(project);
if (app.logger.hasErrors()) process.exit(1);
