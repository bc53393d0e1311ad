import { type BuildArtifact, build, file } from "bun";
import { licences, packagesOf } from "../cli/building.ts";
import { POLICY } from "./page/policy.ts";
import { join } from "node:path";

export { PAGE_HEADERS } from "./page/policy.ts";

const source = join(import.meta.dir, "page");

/** The page that opens links. */
export interface BuiltPage {
  /** The texts of the files, by their names in the folder that a web server serves. */
  readonly files: ReadonlyMap<string, string>;
  /** The folders of the packages whose code the page contains. */
  readonly packages: readonly string[];
}

/** Builds the page: static files that need nothing from another origin. */
export async function buildPage(): Promise<BuiltPage> {
  const inputs: string[] = [];
  const script = async (name: string, format: "esm" | "iife"): Promise<string> => {
    const { outputs, metafile } = await build({
      entrypoints: [join(source, name)],
      target: "browser",
      // The sources of @idk/storage, with stubs for what browsers lack.
      conditions: ["browser", "bun"],
      format,
      minify: true,
      metafile: true,
    });
    inputs.push(...Object.keys(metafile!.inputs));
    return (outputs as [BuildArtifact])[0].text();
  };
  const text = async (name: string): Promise<string> => file(join(source, name)).text();
  const index = (await text("index.html")).replace("{{policy}}", POLICY);
  if (!index.includes(`content="${POLICY}"`))
    throw new Error("index.html has no place for a policy");
  const files = new Map([
    ["index.html", index],
    ["style.css", await text("style.css")],
    ["page.js", await script("page.ts", "esm")],
    // Not every browser has service workers that are modules.
    ["service-worker.js", await script("service-worker.ts", "iife")],
  ]);
  const packages = packagesOf(inputs);
  files.set("LICENSES.txt", await licences(packages));
  return { files, packages };
}
