/**
 * Adds to a manifest where the package's repository, home page and issues are. The registry compares
 * the repository with the provenance.
 *
 * Usage: bun script/name-repository.ts PACKAGE.JSON OWNER/NAME FOLDER
 */
import { file, write } from "bun";

const [path = "", repository, directory] = process.argv.slice(2);
const url = `https://github.com/${repository}`;
const manifest: unknown = await file(path).json();
const named = {
  ...(manifest as object),
  repository: { type: "git", url: `git+${url}.git`, directory },
  homepage: `${url}/tree/main/${directory}#readme`,
  bugs: `${url}/issues`,
};
await write(path, `${JSON.stringify(named, null, 2)}\n`);
